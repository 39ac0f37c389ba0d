import { connect, type Socket } from 'node:net'
import { eachLine } from '../../test/process/support/lines.ts'
import type { Access, AccessAnswer } from './witness.ts'

/** A worker's way to the resource. */
export class Resource {
  private readonly socket: Socket
  private readonly waiting = new Map<number, (answer: AccessAnswer) => void>()
  private requests = 0

  constructor(path: string) {
    this.socket = connect(path)
    eachLine(this.socket, (line) => {
      const answer = JSON.parse(line) as AccessAnswer
      this.waiting.get(answer.number)?.(answer)
      this.waiting.delete(answer.number)
    })
  }

  access(request: Omit<Access, 'number'>): Promise<AccessAnswer> {
    const number = ++this.requests
    this.socket.write(`${JSON.stringify({ number, ...request })}\n`)
    return new Promise((resolve) => this.waiting.set(number, resolve))
  }

  close(): void {
    this.socket.destroy()
  }
}
