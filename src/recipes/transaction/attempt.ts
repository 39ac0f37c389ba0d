import { InvalidArgumentError } from '../../errors.ts'
import type { Argument, TransactionConnection } from './connection.ts'

/** The argument of the function of a transaction. */
export interface Transaction {
  /**
   * Sends a command at once, on the connection that watches the keys: for reading. Rejects with the server's own error.
   * The reply is valid only if the transaction goes through.
   */
  read(command: string, ...args: Argument[]): Promise<unknown>
  /** Adds a command to those that are run together, in this order, when the function has returned. */
  queue(command: string, ...args: Argument[]): void
  /** Fires when the time of the transaction is over or its caller cancels. */
  readonly signal: AbortSignal
}

export interface QueuedCommand {
  readonly name: string
  readonly args: readonly (string | Buffer)[]
}

/** These would change what the connection is, for this transaction or for the next one on it. */
const FORBIDDEN = new Set(
  `MULTI EXEC DISCARD WATCH UNWATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE MONITOR
   SELECT HELLO AUTH CLIENT RESET QUIT`.split(/\s+/),
)

/** One try of a transaction, as long as its function runs. */
export class TransactionAttempt implements Transaction {
  readonly signal: AbortSignal
  readonly queued: QueuedCommand[] = []
  /** How many reads the server has not answered yet. */
  reading = 0
  private readonly connection: TransactionConnection
  private over = false

  constructor(connection: TransactionConnection, signal: AbortSignal) {
    this.connection = connection
    this.signal = signal
  }

  async read(command: string, ...args: Argument[]): Promise<unknown> {
    this.assertOpen()
    const { name, args: texts } = commandOf(command, args)
    this.reading++
    try {
      return await this.connection.send(name, texts)
    } finally {
      this.reading--
    }
  }

  queue(command: string, ...args: Argument[]): void {
    this.assertOpen()
    this.queued.push(commandOf(command, args))
  }

  /** From now on nothing may be sent: the connection belongs to somebody else. */
  close(): void {
    this.over = true
  }

  private assertOpen(): void {
    if (this.over || this.signal.aborted)
      throw new InvalidArgumentError('transaction', 'is over: it has been carried out or given up')
  }
}

function commandOf(command: string, args: readonly Argument[]): QueuedCommand {
  if (typeof command !== 'string' || command === '')
    throw new InvalidArgumentError('command', 'must be the name of a command')
  if (FORBIDDEN.has(command.toUpperCase()))
    throw new InvalidArgumentError('command', `must not be ${command}: the transaction does that by itself`)
  return { name: command, args: args.map(textOf) }
}

function textOf(argument: Argument): string | Buffer {
  if (typeof argument === 'string' || Buffer.isBuffer(argument)) return argument
  if (argument instanceof Uint8Array)
    return Buffer.from(argument.buffer, argument.byteOffset, argument.byteLength)
  if (typeof argument === 'number' || typeof argument === 'bigint') return String(argument)
  throw new InvalidArgumentError('argument', 'of a command must be a text, a number or bytes')
}
