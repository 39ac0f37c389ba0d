import type { Duration, Lease } from '../core/api.ts'
import { checkOptions, type NamesOf } from '../core/check.ts'
import { durationMs } from '../core/durations.ts'
import { LeaseLostError } from '../errors.ts'
import { functionOf, keepMs, keyFor, type RecipeKit, recordsOf, wholeNumber, writeUnder } from './kit.ts'
import { packed, unpacked } from './values.ts'

export interface CachedOptions {
  /** How long a value is fresh in the store. */
  ttl: Duration
  /** How long this process serves its copy without asking the store: a tenth of `ttl`, at most one second, by default. */
  local?: Duration
  /** How much longer a stale value is served while one process loads the new one. */
  stale?: Duration
  /** Called when a background load failed; without it, the process warns. */
  onRefreshError?: (error: unknown) => void
  /** How long to wait for the process that loads. */
  wait?: Duration
  /** Larger values are refused: 1 MiB of JSON by default. */
  maxBytes?: number
}

export type Loader<T> = () => Promise<T> | T

/** Both clocks count: the monotonic one stands still while the machine sleeps, the wall clock may be set back. */
interface Moment {
  readonly nowMs: number
  readonly wallMs: number
}

interface Copy {
  readonly value: unknown
  /** The time of the read from the store, or of the load. */
  readonly since: Moment
  readonly localMs: number
}

interface Checked {
  readonly ttlMs: number
  readonly localMs: number
  readonly staleMs: number
  readonly wait: Duration | undefined
  readonly maxBytes: number
  readonly onRefreshError: (error: unknown) => void
}

const OPTIONS: NamesOf<CachedOptions> = {
  ttl: true,
  local: true,
  stale: true,
  onRefreshError: true,
  wait: true,
  maxBytes: true,
}
const MOST_COPIES = 10_000

/** Values by key: a local copy first, then the store's, then one loader across all processes. */
export class Cache {
  private readonly kit: RecipeKit
  private readonly copies = new Map<string, Copy>()
  /** The loads of this process that are under way: later callers join them. */
  private readonly flights = new Map<string, Promise<unknown>>()
  /** Keys that this process loads in the background. */
  private readonly refreshing = new Set<string>()

  constructor(kit: RecipeKit) {
    this.kit = kit
  }

  async get<T>(key: string, options: CachedOptions, load: Loader<T>): Promise<T> {
    functionOf('load', load)
    const checked = checkedOf(options)
    lockOf(key)
    const copy = this.copies.get(key)
    if (copy !== undefined && this.ageOf(copy) < copy.localMs) return copy.value as T
    const running = this.flights.get(key)
    if (running !== undefined) return running as Promise<T>
    const flight = this.fetch(key, checked, load).finally(() => this.flights.delete(key))
    this.flights.set(key, flight)
    return flight as Promise<T>
  }

  private async fetch(key: string, checked: Checked, load: Loader<unknown>): Promise<unknown> {
    const records = recordsOf(this.kit, 'cached')
    const name = this.kit.nameOf(lockOf(key))
    const since = this.moment()
    const found = await records.read(name)
    if (found === null) return this.load(key, checked, load)
    const fresh = checked.staleMs === 0 || (await records.read(this.kit.nameOf(freshOf(key)))) !== null
    if (!fresh) this.refresh(key, checked, load)
    return this.keep(key, unpacked(found.value), fresh ? checked.localMs : 0, since)
  }

  /** One caller of one process loads; the callers that waited find its value. */
  private async load(key: string, checked: Checked, load: Loader<unknown>): Promise<unknown> {
    const { wait } = checked
    const options = wait === undefined ? {} : { wait }
    let got: { readonly value: unknown } | null = null
    try {
      await this.kit.locks.using(lockOf(key), options, async (lease) => {
        const since = this.moment()
        const found = await recordsOf(this.kit, 'cached').read(this.kit.nameOf(lockOf(key)))
        const value =
          found === null
            ? await this.loadUnder(lease, key, checked, load)
            : this.keep(key, unpacked(found.value), checked.localMs, since)
        got = { value }
      })
    } catch (error) {
      // Only the loss of our own lease comes after the value; an earlier error is the loader's.
      if (got === null) throw error
    }
    return (got as { readonly value: unknown } | null)?.value
  }

  /** Loads in the background if the lock is free; after a failure the stale value stays until it expires. */
  private refresh(key: string, checked: Checked, load: Loader<unknown>): void {
    if (this.refreshing.has(key)) return
    this.refreshing.add(key)
    const refreshed = async (): Promise<void> => {
      const lease = await this.kit.locks.tryAcquire(lockOf(key))
      if (lease === null) return
      try {
        const fresh = await recordsOf(this.kit, 'cached').read(this.kit.nameOf(freshOf(key)))
        if (fresh === null) await this.loadUnder(lease, key, checked, load)
      } finally {
        await lease[Symbol.asyncDispose]()
      }
    }
    refreshed()
      .catch(checked.onRefreshError)
      .finally(() => this.refreshing.delete(key))
  }

  private async loadUnder(
    lease: Lease,
    key: string,
    checked: Checked,
    load: Loader<unknown>,
  ): Promise<unknown> {
    const { ttlMs, staleMs, localMs, maxBytes } = checked
    const value = await load()
    const since = this.moment()
    const text = packed('the loaded value', value, maxBytes)
    try {
      await writeUnder(this.kit, lease, text, ttlMs + staleMs)
    } catch (error) {
      // Another process may load by now. The value is valid, but it is not stored for others.
      if (error instanceof LeaseLostError) return value
      throw error
    }
    if (staleMs > 0) {
      const records = recordsOf(this.kit, 'cached')
      await records.write(this.kit.nameOf(freshOf(key)), '', ttlMs, { kind: 'always' })
    }
    return this.keep(key, value, localMs, since)
  }

  private keep(key: string, value: unknown, localMs: number, since: Moment): unknown {
    this.copies.delete(key)
    if (localMs > 0) {
      this.copies.set(key, { value, since, localMs })
      const [oldest] = this.copies.keys()
      if (this.copies.size > MOST_COPIES && oldest !== undefined) this.copies.delete(oldest)
    }
    return value
  }

  private moment(): Moment {
    const { runtime } = this.kit
    return { nowMs: runtime.nowMs(), wallMs: runtime.wallMs() }
  }

  private ageOf({ since }: Copy): number {
    const { nowMs, wallMs } = this.moment()
    return Math.max(nowMs - since.nowMs, wallMs - since.wallMs)
  }
}

function lockOf(key: string): string {
  return keyFor('cached', 'key', key)
}

/** Its record exists while the value is fresh: the store's clock decides, not ours. */
function freshOf(key: string): string {
  return `fresh:${key}`
}

function checkedOf(options: CachedOptions): Checked {
  checkOptions('options', options, OPTIONS)
  const { ttl, local, stale, wait, maxBytes = 1024 * 1024, onRefreshError = warn } = options
  const ttlMs = keepMs('ttl', ttl)
  const localMs =
    local === undefined
      ? Math.min(Math.floor(ttlMs / 10), 1000)
      : durationMs('local', local, { minMs: 0, maxMs: ttlMs })
  const staleMs = stale === undefined ? 0 : durationMs('stale', stale, { minMs: 0, maxMs: 31_536_000_000 })
  wholeNumber('maxBytes', maxBytes, 2, 16 * 1024 * 1024)
  functionOf('onRefreshError', onRefreshError)
  return { ttlMs, localMs, staleMs, wait, maxBytes, onRefreshError }
}

function warn(error: unknown): void {
  process.emitWarning(`a cached value could not be refreshed: ${String(error)}`, 'HoldfastWarning')
}
