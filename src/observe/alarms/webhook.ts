import { checkObject, checkOptions, checkWholeNumber, type NamesOf } from '../../core/check.ts'
import { type Duration, durationMs } from '../../core/durations.ts'
import type { Runtime, Timer } from '../../core/runtime.ts'
import { InvalidArgumentError } from '../../index.ts'
import type { Alarm } from './rules.ts'

export interface WebhookOptions {
  /** Gets every alarm as JSON, by POST. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** The time limit of one try: 5 seconds by default. */
  readonly timeout?: Duration
  /** The number of tries per alarm: 5 by default, with pauses of 1, 2, 4, … seconds between them. */
  readonly tries?: number
}

const OPTIONS: NamesOf<WebhookOptions> = { url: true, headers: true, timeout: true, tries: true }
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 60_000
/** After a long outage the receiver misses the oldest alarms. */
const MOST_WAITING = 100

/** Sends alarms one after the other. A failed delivery is reported, never thrown. */
export class Webhook {
  /** The receiver without its secrets: some URLs have one in their path. */
  readonly shown: string
  private readonly options: WebhookOptions
  private readonly runtime: Runtime
  private readonly undelivered: (why: string, alarm: Alarm) => void
  private readonly timeoutMs: number
  private readonly tries: number
  private readonly waiting: Alarm[] = []
  private readonly closing = new AbortController()
  private sending = false

  constructor(options: WebhookOptions, runtime: Runtime, undelivered: (why: string, alarm: Alarm) => void) {
    this.options = checkOptions('webhook', options, OPTIONS)
    if (options.headers !== undefined) checkObject('webhook.headers', options.headers)
    this.runtime = runtime
    this.undelivered = undelivered
    this.shown = originOf(options.url)
    this.timeoutMs = durationMs('webhook.timeout', options.timeout ?? '5s', { minMs: 10, maxMs: 60_000 })
    this.tries = checkWholeNumber('webhook.tries', options.tries ?? 5, 1, 20)
  }

  send(alarm: Alarm): void {
    if (this.closing.signal.aborted) return
    this.waiting.push(alarm)
    if (this.waiting.length > MOST_WAITING)
      this.undelivered('too many alarms wait for the receiver', this.waiting.shift() as Alarm)
    if (!this.sending) void this.work()
  }

  /** Aborts the delivery under way and drops the alarms that wait. */
  close(): void {
    this.closing.abort()
    this.waiting.length = 0
  }

  private async work(): Promise<void> {
    this.sending = true
    for (let alarm = this.waiting.shift(); alarm !== undefined; alarm = this.waiting.shift()) {
      const why = await this.deliver(alarm)
      if (why !== null && !this.closing.signal.aborted) this.undelivered(why, alarm)
    }
    this.sending = false
  }

  /** Null after a delivery, else the reason of the failure. */
  private async deliver(alarm: Alarm): Promise<string | null> {
    for (let tried = 1; ; tried++) {
      const { why, again } = await this.post(alarm)
      if (why === null || !again || tried >= this.tries) return why
      await this.pause(Math.min(FIRST_PAUSE_MS * 2 ** (tried - 1), LONGEST_PAUSE_MS))
      if (this.closing.signal.aborted) return why
    }
  }

  private async post(alarm: Alarm): Promise<{ why: string | null; again: boolean }> {
    const late = new AbortController()
    const end = (): void => late.abort()
    const timer = this.runtime.setTimer(end, this.timeoutMs, true)
    this.closing.signal.addEventListener('abort', end)
    try {
      const response = await fetch(this.options.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...this.options.headers },
        body: JSON.stringify(alarm),
        // A redirect would send these headers to another address.
        redirect: 'manual',
        signal: late.signal,
      })
      await response.body?.cancel()
      const { ok, status } = response
      const again = status >= 500 || status === 408 || status === 429
      return { why: ok ? null : `it answered ${status}`, again }
    } catch {
      // A client's own message may repeat the whole address.
      return {
        why: late.signal.aborted ? 'it did not answer in time' : 'it could not be reached',
        again: true,
      }
    } finally {
      timer.clear()
      this.closing.signal.removeEventListener('abort', end)
    }
  }

  private pause(forMs: number): Promise<void> {
    const { signal } = this.closing
    return new Promise((resolve) => {
      let timer: Timer | null = null
      const end = (): void => {
        timer?.clear()
        signal.removeEventListener('abort', end)
        resolve()
      }
      timer = this.runtime.setTimer(end, forMs, true)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  }
}

function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('webhook.url', 'must be an address that begins with http:// or https://')
  // `fetch` refuses credentials in a URL, with a message that shows them.
  if (url.username !== '' || url.password !== '')
    throw new InvalidArgumentError('webhook.url', 'must have no user and no password: use `headers`')
  return url.pathname === '/' ? url.origin : `${url.origin}/…`
}
