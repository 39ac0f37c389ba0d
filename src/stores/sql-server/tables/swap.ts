import type { Runtime } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import type { Clock, KeyNotification } from '../../../model/index.ts'
import { ALL_HEADS, HEADS } from './excerpts.ts'
import { KEYS_PER_STATEMENT } from './rules.ts'
import type { Change, Database, Ledger, Look, Need } from './tables.ts'
import type { Playable, Shelf } from './task.ts'

const PATIENCE_MS = 5000
const LONGEST_PAUSE_MS = 40

/** Letters to this process itself need not go through the database. */
export interface Post {
  isOwn(letter: KeyNotification): boolean
  deliver(letter: KeyNotification): void
}

const NO_POST: Post = { isOwn: () => false, deliver: () => {} }

/** Tasks that have a key in common, and what they made of the rows that were read. */
interface Unit<R, S> {
  readonly tasks: readonly Playable<S>[]
  readonly changes: readonly Change<R, S>[]
  readonly letters: readonly KeyNotification[]
}

/**
 * Reads rows, lets tasks work on them, and writes them back if nobody else did meanwhile; else all over again. Nothing is
 * locked between the two statements, so a process that stands still in the middle holds up nobody.
 */
export class Swap<R, S> {
  private readonly ledger: Ledger<R, S>
  private readonly stateOf: (key: string, row: R | undefined, clock: Clock) => S
  private readonly reasonOf: Database['reasonOf']
  private readonly runtime: Runtime
  private readonly post: Post

  constructor(
    ledger: Ledger<R, S>,
    stateOf: (key: string, row: R | undefined, clock: Clock) => S,
    reasonOf: Database['reasonOf'],
    runtime: Runtime,
    post: Post = NO_POST,
  ) {
    this.ledger = ledger
    this.stateOf = stateOf
    this.reasonOf = reasonOf
    this.runtime = runtime
    this.post = post
  }

  /**
   * Settles every task. `found` is what was read already, if it was. Where others were faster, `again` may serve a task in another way, and
   * resolves to those that it could not serve.
   */
  async run(
    tasks: readonly Playable<S>[],
    found: Look<R> | null = null,
    again: (lost: readonly Playable<S>[]) => Promise<readonly Playable<S>[]> = async (lost) => lost,
  ): Promise<void> {
    const giveUpAtMs = this.runtime.nowMs() + PATIENCE_MS
    let [open, look] = [tasks, found]
    let losses = 0
    while (open.length > 0) {
      // The first loss says only that somebody was faster; more of them say that there is a crowd.
      if (losses > 1) await this.pause(Math.min(2 ** losses, LONGEST_PAUSE_MS) * this.runtime.random())
      if (this.runtime.nowMs() > giveUpAtMs) return fail(open, new StoreError(CROWDED))
      try {
        const { lost, later } = await this.once(open, look)
        losses = lost.length === 0 ? 0 : losses + 1
        open = [...later, ...(lost.length === 0 ? lost : await again(lost))]
      } catch (error) {
        if (this.reasonOf(error) !== 'conflict') return fail(open, error)
        losses++
      }
      look = null
    }
  }

  /** Returns the tasks that have to be played again: those that others were faster than, and those whose turn is yet to come. */
  private async once(tasks: readonly Playable<S>[], found: Look<R> | null) {
    const look = found ?? (await this.look(tasks, false))
    const [small, large]: [Unit<R, S>[], Unit<R, S>[]] = [[], []]
    const [units, later] = await this.playAll(tasks, look)
    for (const unit of units) {
      if (unit.changes.length === 0) await this.tell(unit)
      else (unit.changes.length === 1 ? small : large).push(unit)
    }
    const lost: Playable<S>[] = []
    for (let first = 0; first < small.length; first += KEYS_PER_STATEMENT)
      lost.push(...(await this.save(small.slice(first, first + KEYS_PER_STATEMENT), look.clock, false)))
    for (const unit of large) lost.push(...(await this.save([unit], look.clock, true)))
    return { lost, later }
  }

  private look(tasks: readonly Playable<S>[], deep: boolean): Promise<Look<R>> {
    const keys = [...new Set(tasks.flatMap((task) => task.keys))]
    return this.ledger.look(keys, needsOf(tasks, deep))
  }

  /** Where too little was read, a unit is played on more, as far as that suffices; the rest of it comes later. */
  private async playAll(tasks: readonly Playable<S>[], look: Look<R>) {
    const units: Unit<R, S>[] = []
    const later: Playable<S>[] = []
    for (const unit of unitsOf(tasks)) {
      let played = this.play(unit, look)
      let count = unit.length
      if (this.isShort(played)) {
        const more = await this.look(unit, true)
        played = this.play(unit, more)
        // Enough for any one task.
        while (count > 1 && this.isShort(played)) {
          count = Math.ceil(count / 2)
          played = this.play(unit.slice(0, count), more)
        }
      }
      units.push(played)
      later.push(...unit.slice(count))
    }
    return [units, later] as const
  }

  private isShort({ changes }: Unit<R, S>): boolean {
    return changes.some((change) => this.ledger.isShort?.(change))
  }

  /** The tasks in their order, each on what those before it left. */
  private play(tasks: readonly Playable<S>[], { clock, rows }: Look<R>): Unit<R, S> {
    const states = new Map<string, S>()
    const changed = new Set<string>()
    const letters: KeyNotification[] = []
    const shelf: Shelf<S> = {
      get: (key) => {
        let state = states.get(key)
        if (state === undefined) {
          state = this.stateOf(key, rows.get(key), clock)
          states.set(key, state)
        }
        return state
      },
      put: (key, state) => {
        states.set(key, state)
        changed.add(key)
      },
    }
    const played = tasks.filter((task) => {
      try {
        letters.push(...task.play(shelf, clock, rows))
        return true
      } catch (error) {
        task.failed(error)
        return false
      }
    })
    const changes = [...changed].map((key) => {
      return { key, before: rows.get(key), state: states.get(key) as S }
    })
    return { tasks: played, changes, letters }
  }

  private async save(
    units: readonly Unit<R, S>[],
    clock: Clock,
    whole: boolean,
  ): Promise<readonly Playable<S>[]> {
    const changes = units.flatMap((unit) => unit.changes)
    const letters = this.abroad(units.flatMap((unit) => unit.letters))
    let saved: ReadonlySet<string>
    try {
      saved = await this.ledger.save(changes, clock, { letters, whole })
    } catch (error) {
      return this.afterError(units, clock, whole, error)
    }
    const again: Playable<S>[] = []
    for (const unit of units) {
      if (!unit.changes.every(({ key }) => saved.has(key))) {
        again.push(...unit.tasks)
        continue
      }
      this.settle(unit)
    }
    return again
  }

  /** Somebody may have to know although nothing changed, such as a holder that is asked to let go. */
  private async tell(unit: Unit<R, S>): Promise<void> {
    const letters = this.abroad(unit.letters)
    if (letters.length > 0) await this.ledger.tell(letters)
    this.settle(unit)
  }

  private abroad(letters: readonly KeyNotification[]): readonly KeyNotification[] {
    return letters.filter((letter) => letter.inbox !== null && !this.post.isOwn(letter))
  }

  private settle({ tasks, letters }: Unit<R, S>): void {
    for (const task of tasks) task.done()
    for (const letter of letters) if (this.post.isOwn(letter)) this.post.deliver(letter)
  }

  private async afterError(
    units: readonly Unit<R, S>[],
    clock: Clock,
    whole: boolean,
    error: unknown,
  ): Promise<readonly Playable<S>[]> {
    const reason = this.reasonOf(error)
    if (reason === 'locked' && units.length > 1) {
      // One row that is locked must not hold up the others.
      const apart = await Promise.all(units.map((unit) => this.save([unit], clock, whole)))
      return apart.flat()
    }
    const tasks = units.flatMap((unit) => unit.tasks)
    if (reason === 'conflict') return tasks
    for (const task of tasks) {
      if (reason === 'locked') task.blocked(clock, error)
      else task.failed(error)
    }
    return []
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, delayMs, false)
    })
  }
}

const CROWDED = `others changed the same rows for ${PATIENCE_MS} ms, each time before this process could`

function fail(tasks: readonly Playable<never>[], error: unknown): void {
  for (const task of tasks) task.failed(error)
}

/** Tasks that share keys, directly or by way of others, stand together; their order is kept. */
function unitsOf<T extends { readonly keys: readonly string[] }>(tasks: readonly T[]): T[][] {
  const units = new Map<string, T[]>()
  for (const task of tasks) {
    const met = new Set(task.keys.map((key) => units.get(key)).filter((unit) => unit !== undefined))
    const [unit = [], ...others] = met
    for (const other of others) {
      unit.push(...other)
      for (const { keys } of other) for (const key of keys) units.set(key, unit)
    }
    unit.push(task)
    for (const key of task.keys) units.set(key, unit)
  }
  return [...new Set(units.values())]
}

/** What the tasks have to know of each of their keys. */
function needsOf(tasks: readonly Playable<never>[], deep: boolean): readonly Need[] {
  const needs = new Map<string, { key: string; ids: string[]; owners: string[]; heads: number }>()
  for (const { keys, claims = [], whole = false } of tasks) {
    for (const key of keys) {
      const heads = whole ? Number.POSITIVE_INFINITY : deep ? ALL_HEADS : HEADS
      const need = needs.get(key) ?? { key, ids: [], owners: [], heads }
      need.heads = Math.max(need.heads, heads)
      needs.set(key, need)
    }
    for (const { key, id, owner, replaces } of claims) {
      const need = needs.get(key)
      need?.ids.push(id, ...(replaces === null ? [] : [replaces]))
      if (owner !== null && need?.owners.includes(owner) === false) need.owners.push(owner)
    }
  }
  return [...needs.values()]
}
