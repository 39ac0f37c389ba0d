import type { Runtime } from '../../../core/runtime.ts'
import {
  type Blocked,
  type Claim,
  type ClaimAnswer,
  EMPTY,
  type KeyNotification,
  type KeyState,
  SPARE_TOKENS,
  tokenOf,
} from '../../../model/index.ts'
import { Crowd } from '../../shared/contended-keys.ts'
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

/** A statement that may serve a task by itself; `model` for none. The second line serves one claim at a time, on a busy key. */
const WAYS = [
  ...(['claim', 'renew', 'release'] as const),
  ...(['join', 'renew own', 'release own'] as const),
  'model',
] as const
type Way = (typeof WAYS)[number]

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
    deliver: (letter: KeyNotification) => void,
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
      return this.go(first.keys.length === 1 ? this.firstWay(first.lock) : 'model', entries)
    const alone = aloneIn(entries)
    const parts = new Map<Way, Entry[]>(WAYS.map((way) => [way, []]))
    for (const entry of entries)
      parts.get(alone.has(entry.lock.task) ? this.firstWay(entry.lock) : 'model')?.push(entry)
    return [...parts].flatMap(([way, part]) => this.go(way, part))
  }

  private firstWay(lock: LockTask): Way {
    const [claim] = lock.claims
    if (claim === undefined || lock.kind === 'evict') return 'model'
    if (lock.kind !== 'claim') return lock.kind
    if (this.crowd.has(claim.key)) return waysOnBusyKey(lock)[0] ?? 'model'
    return isPlain(claim) ? 'claim' : 'model'
  }

  private go(way: Way, entries: readonly Entry[]): readonly Promise<readonly Entry[]>[] {
    const size = way === 'model' ? entries.length : way === 'join' ? 1 : KEYS_PER_STATEMENT
    const running: Promise<readonly Entry[]>[] = []
    for (let first = 0; first < entries.length; first += size)
      running.push(this.serve(way, entries.slice(first, first + size)))
    return running
  }

  private async serve(way: Way, entries: readonly Entry[]): Promise<readonly Entry[]> {
    let open = await this.ask(way, entries)
    // One claim may have a statement of its own; for many the model needs fewer. A claim that is not exclusive may come in beside others, which
    // the model alone can tell.
    const waysOf = ({ lock }: Entry) =>
      way === 'model' || (way === 'claim' && !isExclusive(lock))
        ? []
        : waysOnBusyKey(lock).filter((other) => other !== way)
    if (entries.length === 1) open = await this.askEach(open, waysOf)
    if (open.length > 0) await this.model(open)
    return entries
  }

  private async model(entries: readonly Entry[]): Promise<void> {
    const tasks = entries.map(({ lock }) => lock.task)
    await this.swap.run(tasks, null, async (lost) => {
      const alone = aloneIn(entries)
      const left = await this.askEach(
        lost.flatMap((task) => alone.get(task) ?? []),
        ({ lock }) => waysOnBusyKey(lock),
      )
      const open = new Set<unknown>(left.map(({ lock }) => lock.task))
      return lost.filter((task) => open.has(task) || !alone.has(task))
    })
  }

  /** Each by statements of its own, one after the other. Resolves to those that are not served. */
  private async askEach(
    entries: readonly Entry[],
    waysOf: (entry: Entry) => readonly Way[],
  ): Promise<readonly Entry[]> {
    const left = entries.map(async (entry) => {
      let open: readonly Entry[] = [entry]
      for (const way of waysOf(entry)) if (open.length > 0) open = await this.ask(way, open)
      return open
    })
    return (await Promise.all(left)).flat()
  }

  /** One statement for all of them. Resolves to those that are not served. */
  private async ask(way: Way, entries: readonly Entry[]): Promise<readonly Entry[]> {
    let answers: ReadonlyMap<string, Done | Blocked>
    try {
      answers = await this.answers(
        way,
        entries.map(({ lock }) => lock.claims[0] as Claim),
      )
    } catch (error) {
      return this.without(entries, error)
    }
    return entries.filter(({ keys, lock }) => {
      const answer = answers.get(keys[0] as string)
      if (answer !== undefined) tell(lock, answer)
      return answer === undefined
    })
  }

  private async answers(way: Way, claims: readonly Claim[]): Promise<ReadonlyMap<string, Done | Blocked>> {
    const { table } = this
    const [claim] = claims as readonly [Claim]
    switch (way) {
      case 'claim':
        return table.claimFree(claims, this.inbox())
      case 'renew':
        return table.renewSole(claims)
      case 'release':
        return table.releaseSole(claims)
      case 'join':
        return byKey(claim, await table.join(claim, this.inbox()))
      case 'renew own':
        return byKey(claim, await table.renewOwn(claim))
      case 'release own':
        return byKey(claim, await table.releaseOwn(claim))
      case 'model':
        return new Map()
    }
  }

  /** After a statement that failed. Resolves to those that go another way. */
  private async without(entries: readonly Entry[], error: unknown): Promise<readonly Entry[]> {
    const reason = this.reasonOf(error)
    // The statement did nothing, so the other way is open; a row that is locked is met there by itself.
    if (reason !== null && (reason !== 'locked' || entries.length > 1)) return entries
    if (reason === 'locked') await this.blocked(entries, error)
    else for (const { lock } of entries) lock.task.failed(error)
    return []
  }

  /** To read a row, nobody waits. */
  private async blocked(entries: readonly Entry[], error: unknown): Promise<void> {
    try {
      const { clock } = await this.table.look(entries.flatMap(({ keys }) => keys))
      for (const { lock } of entries) lock.task.blocked(clock, error)
    } catch {
      for (const { lock } of entries) lock.task.failed(error)
    }
  }
}

function byKey<A>({ key }: Claim, answer: A | null): ReadonlyMap<string, A> {
  return new Map(answer === null ? [] : [[key, answer]])
}

function isExclusive({ claims }: LockTask): boolean {
  return claims[0]?.mode.kind === 'exclusive'
}

/** An exclusive hold stands in the row of its key; a claim that asks once more may hold its key already. */
function waysOnBusyKey(lock: LockTask): readonly Way[] {
  const [claim] = lock.claims
  const own = !isExclusive(lock)
  switch (lock.kind) {
    case 'claim':
      return claim === undefined || !isPatient(claim) ? [] : own ? ['join', 'renew own'] : ['join']
    case 'renew':
      return own ? ['renew own'] : []
    case 'release':
      return own ? ['release own'] : []
    case 'evict':
      return []
  }
}

/** The entries that have their one key to themselves, by their tasks. */
function aloneIn(entries: readonly Entry[]): ReadonlyMap<unknown, Entry> {
  const uses = new Map<string, number>()
  for (const { keys } of entries) for (const key of keys) uses.set(key, (uses.get(key) ?? 0) + 1)
  const alone = entries.filter(({ keys }) => keys.length === 1 && uses.get(keys[0] as string) === 1)
  return new Map(alone.map((entry) => [entry.lock.task, entry]))
}

function tell({ kind, task, claims }: LockTask, answer: Done | Blocked): void {
  if ('kind' in answer) {
    if (kind === 'claim') task.served([answer])
    return
  }
  const { seq, contended } = answer
  if (kind === 'claim') {
    const spare = claims[0]?.owner === null ? SPARE_TOKENS : 0
    task.served([{ kind: 'granted', token: tokenOf(seq), spare, contended }])
  } else if (kind === 'renew') {
    task.served([{ kind: 'renewed', contended }])
  } else if (kind === 'release') {
    task.served([{ kind: 'released' }])
  }
}
