import { constants } from 'node:os'

const FORWARDED: readonly NodeJS.Signals[] =
  process.platform === 'win32'
    ? ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK']
    : ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']

/** A signal came before the command was started. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals

  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}; the command was not started`)
    this.signal = signal
  }
}

/** The exit code that a shell reports for a process ended by a signal. */
export function codeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}

/** The signals of this process: until there is a command they cancel everything, afterwards they go to the command. */
export class Signals {
  private readonly cancel = new AbortController()
  private receiver: ((signal: NodeJS.Signals) => void) | null = null

  constructor() {
    for (const name of FORWARDED) process.on(name, this.receive)
  }

  /** Aborted by the first signal, with `Interrupted` as its reason. */
  get cancelled(): AbortSignal {
    return this.cancel.signal
  }

  forwardTo(receiver: (signal: NodeJS.Signals) => void): void {
    this.receiver = receiver
  }

  stop(): void {
    for (const name of FORWARDED) process.off(name, this.receive)
  }

  private readonly receive = (signal: NodeJS.Signals): void => {
    if (this.receiver !== null) this.receiver(signal)
    else this.cancel.abort(new Interrupted(signal))
  }
}

/** Settles like the task, or rejects at the first signal. */
export function unlessCancelled<T>(task: Promise<T>, cancelled: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(cancelled.reason)
    if (cancelled.aborted) stop()
    cancelled.addEventListener('abort', stop, { once: true })
    task.then(resolve, reject).finally(() => cancelled.removeEventListener('abort', stop))
  })
}
