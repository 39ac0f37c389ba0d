import { RedisError, type Reply } from '../wire/protocol.ts'

interface Entry {
  readonly value: string
  /** On the clock of this process; null for a key that stays. */
  readonly endsAtMs: number | null
}

const NO_NUMBER = new RedisError('ERR value is not an integer or out of range')
const SYNTAX = new RedisError('ERR syntax error')

/** The keys of a model of Redis: texts that may expire. Knows as much as the lab asks for. */
export class Keys {
  private entries = new Map<string, Entry>()
  /** Raised by every write, for WATCH. */
  private readonly versions = new Map<string, number>()
  /** Told of every key that was written. */
  onWrite: (key: string, entry: Entry | undefined) => void = () => {}

  get(key: string): string | null {
    return this.entry(key)?.value ?? null
  }

  versionOf(key: string): number {
    this.entry(key)
    return this.versions.get(key) ?? 0
  }

  /** In milliseconds: -1 for a key that stays, -2 for one that is not there. */
  lifeOf(key: string): number {
    const entry = this.entry(key)
    if (entry === undefined) return -2
    return entry.endsAtMs === null ? -1 : Math.ceil(entry.endsAtMs - Date.now())
  }

  delete(key: string): number {
    if (this.entry(key) === undefined) return 0
    this.write(key, undefined)
    return 1
  }

  expire(key: string, milliseconds: number): number {
    const entry = this.entry(key)
    if (entry === undefined) return 0
    this.write(key, { ...entry, endsAtMs: Date.now() + milliseconds })
    return 1
  }

  add(key: string, amount: number): Reply {
    const entry = this.entry(key)
    const value = Number(entry?.value ?? 0) + amount
    if (!Number.isSafeInteger(value)) return NO_NUMBER
    this.write(key, { value: String(value), endsAtMs: entry?.endsAtMs ?? null })
    return value
  }

  /** SET with its options, which come in any order. */
  set(key: string, value: string, options: readonly string[]): Reply {
    const before = this.entry(key)
    const wishes = wishesOf(options)
    if (wishes === null) return SYNTAX
    const refused =
      wishes.onlyIf === 'NX' ? before !== undefined : wishes.onlyIf === 'XX' && before === undefined
    const kept = wishes.keep ? (before?.endsAtMs ?? null) : null
    if (!refused) this.write(key, { value, endsAtMs: wishes.endsAtMs ?? kept })
    if (wishes.get) return before?.value ?? null
    return refused ? null : 'OK'
  }

  put(key: string, entry: Entry | undefined): void {
    if (entry === undefined) this.entries.delete(key)
    else this.entries.set(key, entry)
    this.versions.set(key, (this.versions.get(key) ?? 0) + 1)
  }

  /** Everything, as a file on a disk would have it. */
  snapshot(): ReadonlyMap<string, Entry> {
    return new Map(this.entries)
  }

  restore(entries: ReadonlyMap<string, Entry>): void {
    this.entries = new Map(entries)
  }

  private write(key: string, entry: Entry | undefined): void {
    this.put(key, entry)
    this.onWrite(key, entry)
  }

  private entry(key: string): Entry | undefined {
    const entry = this.entries.get(key)
    if (entry?.endsAtMs == null || entry.endsAtMs > Date.now()) return entry
    this.write(key, undefined)
    return undefined
  }
}

interface Wishes {
  onlyIf: 'NX' | 'XX' | null
  get: boolean
  keep: boolean
  endsAtMs: number | null
}

function wishesOf(options: readonly string[]): Wishes | null {
  const wishes: Wishes = { onlyIf: null, get: false, keep: false, endsAtMs: null }
  for (let at = 0; at < options.length; at++) {
    const option = options[at]!.toUpperCase()
    const amount = (): number => Number(options[++at])
    if (option === 'NX' || option === 'XX') wishes.onlyIf = option
    else if (option === 'GET') wishes.get = true
    else if (option === 'KEEPTTL') wishes.keep = true
    else if (option === 'EX') wishes.endsAtMs = Date.now() + amount() * 1_000
    else if (option === 'PX') wishes.endsAtMs = Date.now() + amount()
    else if (option === 'EXAT') wishes.endsAtMs = amount() * 1_000
    else if (option === 'PXAT') wishes.endsAtMs = amount()
    else return null
  }
  return wishes
}
