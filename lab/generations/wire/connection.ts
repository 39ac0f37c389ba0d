import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { StoreError } from '../../../src/index.ts'
import { Decoder, encodeRequest, RedisError, type Reply } from './protocol.ts'

interface Waiting {
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: Error) => void
}

const CONNECT_MS = 2_000

/**
 * One connection, and nothing behind it: no queue, no second try. The lab shows what single commands do, so every one of
 * them has to be the one that was written here.
 */
export class WireConnection {
  private readonly socket: Socket
  private readonly waiting: Waiting[] = []
  private ended: Error | null = null

  private constructor(socket: Socket) {
    this.socket = socket
    const decoder = new Decoder()
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const reply of decoder.feed(chunk)) this.answer(reply)
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    socket.on('error', (error) => this.end(error))
    socket.on('close', () => this.end(new Error('the connection was closed')))
  }

  static async open(address: string): Promise<WireConnection> {
    const url = new URL(address)
    const connection = new WireConnection(await dial(url))
    const { username, password, pathname } = url
    const secret = decodeURIComponent(password)
    if (secret !== '')
      await connection.call('AUTH', ...(username ? [decodeURIComponent(username)] : []), secret)
    if (/^\/[1-9]/.test(pathname)) await connection.call('SELECT', pathname.slice(1))
    return connection
  }

  /** The server's answer; rejects with a `RedisError` when that is an error, with something else when none came. */
  call(...words: readonly (string | number)[]): Promise<Reply> {
    if (this.ended !== null) return Promise.reject(this.ended)
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject })
      this.socket.write(encodeRequest(words.map(String)))
    })
  }

  /** The same, with an error of the server as a value: what it says is what is to be shown. */
  async ask(...words: readonly (string | number)[]): Promise<Reply> {
    try {
      return await this.call(...words)
    } catch (error) {
      if (error instanceof RedisError) return error
      throw error
    }
  }

  close(): void {
    this.socket.destroy()
  }

  private answer(reply: Reply): void {
    const waiting = this.waiting.shift()
    if (reply instanceof RedisError) waiting?.reject(reply)
    else waiting?.resolve(reply)
  }

  private end(cause: Error): void {
    this.ended ??= new StoreError(`Redis is gone: ${cause.message}`, { cause })
    for (const { reject } of this.waiting.splice(0)) reject(this.ended)
  }
}

function dial({ protocol, hostname, port, host }: URL): Promise<Socket> {
  const address = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6379) }
  return new Promise((resolve, reject) => {
    const socket = protocol === 'rediss:' ? connectTls(address) : connectPlain(address)
    const fail = (why: string, cause?: Error): void => {
      socket.destroy()
      reject(new StoreError(`Redis at ${host} cannot be reached: ${why}`, cause && { cause }))
    }
    const timer = setTimeout(() => fail('it does not answer'), CONNECT_MS)
    const refuse = (error: Error): void => {
      clearTimeout(timer)
      fail(error.message, error)
    }
    socket.once('error', refuse)
    socket.once(protocol === 'rediss:' ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer)
      socket.off('error', refuse)
      resolve(socket)
    })
  })
}
