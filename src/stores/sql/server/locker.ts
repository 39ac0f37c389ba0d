import type { Runtime } from '../../../core/runtime.ts'
import {
  type Claim,
  type ClaimAnswer,
  EMPTY,
  type KeyLetter,
  type KeyState,
  SPARE_TOKENS,
  tokenOf,
} from '../../../model/index.ts'
import { Crowd } from '../crowd.ts'
import { Rounds } from './rounds.ts'
import { KEYS_PER_STATEMENT } from './rules.ts'
import { Swap } from './swap.ts'
import type { Database, Done, KeyTable, Seen } from './tables.ts'
import { isPatient, isPlain, type LockTask } from './tasks.ts'

/** A task with its keys at hand, for the rounds. */
interface Entry {
  readonly keys: readonly string[]
  readonly lock: LockTask
}

/** The statement that may serve a task by itself; `model` for none. */
type Way = (typeof WAYS)[number]

const WAYS = ['claim', 'renew', 'release', 'join', 'model'] as const

type Fast = (claims: readonly Claim[]) => Promise<ReadonlyMap<string, Done>>

/**
 * Carries tasks out: what one statement can decide by itself goes in one statement, for all of a tick; for the rest the
 * model is asked.
 */
export class Locker {
  private readonly table: KeyTable
  private readonly reasonOf: Database['reasonOf']
  private readonly swap: Swap<Seen, KeyState>
  private readonly crowd = new Crowd()
  private readonly rounds = new Rounds<Entry>((entries) => this.start(entries))
  private readonly inbox: () => string | null

  constructor(
    { keys, reasonOf }: Database,
    runtime: Runtime,
    inbox: () => string | null,
    deliver: (letter: KeyLetter) => void,
  ) {
    this.table = keys
    this.reasonOf = reasonOf
    this.inbox = inbox
    this.swap = new Swap(keys, (_, seen) => seen?.state ?? EMPTY, reasonOf, runtime, {
      isOwn: (letter) => letter.inbox === inbox(),
      deliver,
    })
  }

  add(tasks: readonly LockTask[]): void {
    this.rounds.add(tasks.map((lock) => ({ keys: lock.task.keys, lock })))
  }

  note(claim: Claim, answer: ClaimAnswer): void {
    this.crowd.note(claim.key, answer)
  }

  private start(entries: readonly Entry[]): readonly Promise<readonly Entry[]>[] {
    const [first] = entries
    if (first !== undefined && entries.length === 1)
      return this.go(first.keys.length === 1 ? this.fastest(first.lock) : 'model', entries)
    const uses = new Map<string, number>()
    for (const { keys } of entries) for (const key of keys) uses.set(key, (uses.get(key) ?? 0) + 1)
    const parts: Record<Way, Entry[]> = { claim: [], join: [], renew: [], release: [], model: [] }
    for (const entry of entries) {
      const alone = entry.keys.length === 1 && uses.get(entry.keys[0] as string) === 1
      parts[alone ? this.fastest(entry.lock) : 'model'].push(entry)
    }
    return WAYS.flatMap((way) => this.go(way, parts[way]))
  }

  private go(way: Way, entries: readonly Entry[]): readonly Promise<readonly Entry[]>[] {
    const { table } = this
    switch (way) {
      case 'claim':
        return this.inParts(entries, (claims) => table.claimFree(claims, this.inbox()))
      case 'renew':
        return this.inParts(entries, (claims) => table.renewSole(claims))
      case 'release':
        return this.inParts(entries, (claims) => table.releaseSole(claims))
      case 'join':
        return entries.map((entry) => this.join(entry))
      case 'model':
        return entries.length > 0 ? [this.model(entries)] : []
    }
  }

  private fastest({ kind, claims }: LockTask): Way {
    if (kind === 'evict') return 'model'
    if (kind !== 'claim') return kind
    const claim = claims[0] as Claim
    if (this.crowd.has(claim.key)) return isPatient(claim) ? 'join' : 'model'
    return isPlain(claim) ? 'claim' : 'model'
  }

  private inParts(entries: readonly Entry[], fast: Fast): Promise<readonly Entry[]>[] {
    if (entries.length === 1) return [this.serve(entries, fast)]
    const running: Promise<readonly Entry[]>[] = []
    for (let first = 0; first < entries.length; first += KEYS_PER_STATEMENT)
      running.push(this.serve(entries.slice(first, first + KEYS_PER_STATEMENT), fast))
    return running
  }

  private async serve(entries: readonly Entry[], fast: Fast): Promise<readonly Entry[]> {
    let done: ReadonlyMap<string, Done>
    try {
      done = await fast(entries.map(({ lock }) => lock.claims[0] as Claim))
    } catch (error) {
      return this.without(entries, error)
    }
    const others = entries.filter(({ keys, lock }) => {
      const served = done.get(keys[0] as string)
      if (served !== undefined) answer(lock, served)
      return served === undefined
    })
    if (others.length > 0) await this.model(others)
    return entries
  }

  private async join(entry: Entry): Promise<readonly Entry[]> {
    let answer: ClaimAnswer | null
    try {
      answer = await this.table.join(entry.lock.claims[0] as Claim, this.inbox())
    } catch (error) {
      return this.without([entry], error)
    }
    if (answer === null) return this.model([entry])
    if (entry.lock.kind === 'claim') entry.lock.task.served([answer])
    return [entry]
  }

  /** After a statement that failed. */
  private async without(entries: readonly Entry[], error: unknown): Promise<readonly Entry[]> {
    const reason = this.reasonOf(error)
    if (reason === 'locked' && entries.length === 1) return this.blocked(entries, error)
    // The statement did nothing, so the other way is open; a row that is locked is met there by itself.
    if (reason !== null) return this.model(entries)
    for (const { lock } of entries) lock.task.failed(error)
    return entries
  }

  /** To read a row, nobody waits. */
  private async blocked(entries: readonly Entry[], error: unknown): Promise<readonly Entry[]> {
    try {
      const { clock } = await this.table.look(entries.flatMap(({ keys }) => keys))
      for (const { lock } of entries) lock.task.blocked(clock, error)
    } catch {
      for (const { lock } of entries) lock.task.failed(error)
    }
    return entries
  }

  private async model(entries: readonly Entry[]): Promise<readonly Entry[]> {
    await this.swap.run(entries.map(({ lock }) => lock.task))
    return entries
  }
}

function answer({ kind, task, claims }: LockTask, { seq, contended }: Done): void {
  if (kind === 'claim') {
    const spare = claims[0]?.owner === null ? SPARE_TOKENS : 0
    task.served([{ kind: 'granted', token: tokenOf(seq), spare, contended }])
  } else if (kind === 'renew') {
    task.served([{ kind: 'renewed', contended }])
  } else if (kind === 'release') {
    task.served([{ kind: 'released' }])
  }
}
