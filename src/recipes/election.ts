import type { AcquireOptions, Duration, Lease } from '../core/api.ts'
import { checkOptions, checkSignal, type NamesOf } from '../core/check.ts'
import { durationMs } from '../core/durations.ts'
import { Events } from '../core/events.ts'
import { ConflictError, quote } from '../errors.ts'
import { functionOf, keyFor, pause, type RecipeKit } from './kit.ts'

export interface ElectionOptions {
  /** Time to live of the leadership: how long the others wait when the leader dies. */
  ttl?: Duration
  /** The name that `leader` and `watch` show. */
  meta?: unknown
}

export interface Leader {
  readonly label: string
  readonly meta: unknown
  readonly token: bigint | null
  /** Null if the store does not know. */
  readonly leadsForMs: number | null
}

export interface ElectionEvents {
  /** This process is the leader. */
  elected: { token: bigint | null }
  /** This process lost the leadership. */
  lost: { token: bigint | null }
  /** This process resigned. */
  resigned: { token: bigint | null }
}

interface LeadOptions {
  signal?: AbortSignal
}

interface WatchOptions extends LeadOptions {
  every?: Duration
}

const OPTIONS: NamesOf<ElectionOptions> = { ttl: true, meta: true }
const LEAD: NamesOf<LeadOptions> = { signal: true }
const OBSERVE: NamesOf<WatchOptions> = { signal: true, every: true }
const EVENTS: NamesOf<ElectionEvents> = { elected: true, lost: true, resigned: true }

/** `signal` fires when the leadership is lost and when the process resigns: stop then. */
export type LeaderWork<T> = (lease: Lease, signal: AbortSignal) => Promise<T> | T

/** One leader among the candidates for a name. */
export class Election {
  private readonly kit: RecipeKit
  private readonly name: string
  private readonly options: AcquireOptions
  private readonly events = new Events<ElectionEvents>(EVENTS)
  private term: { readonly resigning: AbortController; over: Promise<unknown> } | null = null

  constructor(kit: RecipeKit, name: string, options: ElectionOptions = {}) {
    const { ttl, meta } = checkOptions('options', options, OPTIONS)
    this.kit = kit
    this.name = name
    kit.nameOf(this.key)
    this.options = {
      wait: Number.POSITIVE_INFINITY,
      ...(ttl === undefined ? {} : { ttl }),
      ...(meta === undefined ? {} : { meta }),
    }
  }

  /**
   * Waits to be elected, then runs the work. Resolves with its result; a lost leadership aborts the work by its signal and
   * starts a new campaign. `signal` ends the campaign, with its reason, or the work.
   */
  async lead<T>(work: LeaderWork<T>, options: LeadOptions = {}): Promise<T | undefined> {
    functionOf('work', work)
    const signal = checkSignal('signal', checkOptions('options', options, LEAD).signal)
    if (this.term !== null) throw new ConflictError(`this object campaigns for ${quote(this.name)} already`)
    const resigning = new AbortController()
    const stop = signal === undefined ? resigning.signal : AbortSignal.any([signal, resigning.signal])
    const over = this.campaign(work, stop, resigning.signal)
    this.term = { resigning, over }
    try {
      return await over
    } finally {
      this.term = null
    }
  }

  /** Resigns, or ends the campaign; resolves when the work has ended and the next candidate may lead. */
  async resign(): Promise<void> {
    const { term } = this
    if (term === null) return
    term.resigning.abort(new ConflictError(`the leadership of ${quote(this.name)} is given back`))
    await term.over.catch(() => undefined)
  }

  /** The present leader, or null. */
  async leader(): Promise<Leader | null> {
    const [holder] = (await this.kit.locks.read(this.key)).holders
    if (holder === undefined) return null
    const { label, meta, token, heldMs } = holder
    return { label, meta: meta === null ? null : JSON.parse(meta), token, leadsForMs: heldMs }
  }

  /** Reports the leader: at once, and after every change. Polls every second by default. */
  async *observe(options: WatchOptions = {}): AsyncIterable<Leader | null> {
    const { every = 1000, signal } = checkOptions('options', options, OBSERVE)
    const everyMs = durationMs('every', every, { minMs: 10, maxMs: 3_600_000 })
    checkSignal('signal', signal)
    let last: Leader | null | undefined
    while (signal?.aborted !== true) {
      const leader = await this.leader()
      if (last === undefined || last?.token !== leader?.token || last?.label !== leader?.label) yield leader
      last = leader
      try {
        await pause(this.kit, everyMs, signal)
      } catch {
        return
      }
    }
  }

  /** Returns a function that stops listening. */
  on<N extends keyof ElectionEvents>(event: N, listener: (event: ElectionEvents[N]) => void): () => void {
    return this.events.on(event, listener)
  }

  private get key(): string {
    return keyFor('election', 'name', this.name)
  }

  private async campaign<T>(
    work: LeaderWork<T>,
    stop: AbortSignal,
    resigned: AbortSignal,
  ): Promise<T | undefined> {
    for (;;) {
      const lease = await this.elected(stop, resigned)
      if (lease === null) return undefined
      const { token } = lease
      this.events.emit('elected', { token })
      const signal = AbortSignal.any([lease.signal, stop])
      let ended = null as { readonly result: T; readonly told: boolean } | null
      const term = async (): Promise<T> => {
        const result = await work(lease, signal)
        ended = { result, told: lease.signal.aborted }
        return result
      }
      try {
        return await this.kit.workUnder(lease, term)
      } catch (error) {
        // Work that ended before it learned of a loss, or because it was asked to, is done, whatever happened to the leadership.
        if (ended !== null && (stop.aborted || !ended.told)) return ended.result
        if (ended === null && !lease.signal.aborted && !resigned.aborted) throw error
      } finally {
        this.events.emit(lease.signal.aborted ? 'lost' : 'resigned', { token })
      }
      if (resigned.aborted) return undefined
    }
  }

  /** The lease of the leadership; null when `resign` ended the campaign. */
  private async elected(stop: AbortSignal, resigned: AbortSignal): Promise<Lease | null> {
    try {
      return await this.kit.locks.acquire(this.key, { ...this.options, signal: stop })
    } catch (error) {
      if (resigned.aborted) return null
      throw error
    }
  }
}
