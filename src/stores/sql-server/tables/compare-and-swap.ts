import type { Runtime } from '../../../core/runtime.ts'
import { StoreError } from '../../../errors.ts'
import type { Clock, KeyNotification } from '../../../model/index.ts'
import type { ReadRequest, RowChange, ServerDatabase, TableSnapshot, VersionedTable } from './database.ts'
import { KEYS_PER_STATEMENT } from './database.ts'
import { ALL_HEADS, HEADS } from './key-snapshot.ts'

import type { States, Step } from './step.ts'

const GIVE_UP_MS = 5000
const LONGEST_PAUSE_MS = 40

/** Notifications to this process itself need not go through the database. */
export interface LocalDelivery {
  isOwn(notification: KeyNotification): boolean
  deliver(notification: KeyNotification): void
}

const NO_DELIVERY: LocalDelivery = { isOwn: () => false, deliver: () => {} }

/** Steps that have a key in common, and their outcome on the rows that were read. */
interface StepGroup<R, S> {
  readonly steps: readonly Step<S>[]
  readonly changes: readonly RowChange<R, S>[]
  readonly notifications: readonly KeyNotification[]
}

/**
 * Reads rows, applies steps to them, writes them back if no other process changed them meanwhile, and otherwise starts again.
 * No row stays locked between the two statements, so a process that stalls in the middle blocks nobody.
 */
export class CompareAndSwap<R, S> {
  private readonly table: VersionedTable<R, S>
  private readonly stateOf: (key: string, row: R | undefined, clock: Clock) => S
  private readonly reasonOf: ServerDatabase['reasonOf']
  private readonly runtime: Runtime
  private readonly local: LocalDelivery

  constructor(
    table: VersionedTable<R, S>,
    stateOf: (key: string, row: R | undefined, clock: Clock) => S,
    reasonOf: ServerDatabase['reasonOf'],
    runtime: Runtime,
    local: LocalDelivery = NO_DELIVERY,
  ) {
    this.table = table
    this.stateOf = stateOf
    this.reasonOf = reasonOf
    this.runtime = runtime
    this.local = local
  }

  /** Settles every step. `again` may serve the steps that lost a race in another way, and resolves to the others. */
  async run(
    steps: readonly Step<S>[],
    again: (lost: readonly Step<S>[]) => Promise<readonly Step<S>[]> = async (lost) => lost,
  ): Promise<void> {
    const giveUpAtMs = this.runtime.nowMs() + GIVE_UP_MS
    let open = steps
    let losses = 0
    while (open.length > 0) {
      // One lost race is chance; more of them mean contention.
      if (losses > 1) await this.pause(Math.min(2 ** losses, LONGEST_PAUSE_MS) * this.runtime.random())
      if (this.runtime.nowMs() > giveUpAtMs) return fail(open, new StoreError(TOO_CONTENDED))
      try {
        const { lost, later } = await this.tryOnce(open)
        losses = lost.length === 0 ? 0 : losses + 1
        open = [...later, ...(lost.length === 0 ? lost : await again(lost))]
      } catch (error) {
        if (this.reasonOf(error) !== 'conflict') return fail(open, error)
        losses++
      }
    }
  }

  /** Returns the steps that are to be applied again: those that lost a race, and those whose turn is yet to come. */
  private async tryOnce(steps: readonly Step<S>[]) {
    const snapshot = await this.read(steps, false)
    const [small, large]: [StepGroup<R, S>[], StepGroup<R, S>[]] = [[], []]
    const [groups, later] = await this.applyAll(steps, snapshot)
    for (const group of groups) {
      if (group.changes.length === 0) await this.notify(group)
      else (group.changes.length === 1 ? small : large).push(group)
    }
    const lost: Step<S>[] = []
    for (let first = 0; first < small.length; first += KEYS_PER_STATEMENT)
      lost.push(...(await this.save(small.slice(first, first + KEYS_PER_STATEMENT), snapshot.clock, false)))
    for (const group of large) lost.push(...(await this.save([group], snapshot.clock, true)))
    return { lost, later }
  }

  private read(steps: readonly Step<S>[], deep: boolean): Promise<TableSnapshot<R>> {
    const keys = [...new Set(steps.flatMap((step) => step.keys))]
    return this.table.read(keys, requestsOf(steps, deep))
  }

  /** Reads more where too little was read, and leaves the steps for later for which even that is too little. */
  private async applyAll(steps: readonly Step<S>[], snapshot: TableSnapshot<R>) {
    const groups: StepGroup<R, S>[] = []
    const later: Step<S>[] = []
    for (const group of groupsOf(steps)) {
      let applied = this.apply(group, snapshot)
      let count = group.length
      if (this.needsMore(applied)) {
        const more = await this.read(group, true)
        applied = this.apply(group, more)
        // The rows that were read suffice for any single step.
        while (count > 1 && this.needsMore(applied)) {
          count = Math.ceil(count / 2)
          applied = this.apply(group.slice(0, count), more)
        }
      }
      groups.push(applied)
      later.push(...group.slice(count))
    }
    return [groups, later] as const
  }

  private needsMore({ changes }: StepGroup<R, S>): boolean {
    return changes.some((change) => this.table.needsMore?.(change))
  }

  /** Applies the steps in order, each to the states that those before it left. */
  private apply(steps: readonly Step<S>[], { clock, rows }: TableSnapshot<R>): StepGroup<R, S> {
    const states = new Map<string, S>()
    const changed = new Set<string>()
    const notifications: KeyNotification[] = []
    const current: States<S> = {
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
    const applied = steps.filter((step) => {
      try {
        notifications.push(...step.apply(current, clock, rows))
        return true
      } catch (error) {
        step.failed(error)
        return false
      }
    })
    const changes = [...changed].map((key) => {
      return { key, before: rows.get(key), state: states.get(key) as S }
    })
    return { steps: applied, changes, notifications }
  }

  private async save(
    groups: readonly StepGroup<R, S>[],
    clock: Clock,
    whole: boolean,
  ): Promise<readonly Step<S>[]> {
    const changes = groups.flatMap((group) => group.changes)
    const notifications = this.forOthers(groups.flatMap((group) => group.notifications))
    let saved: ReadonlySet<string>
    try {
      saved = await this.table.save(changes, clock, { notifications, whole })
    } catch (error) {
      return this.afterError(groups, clock, whole, error)
    }
    const again: Step<S>[] = []
    for (const group of groups) {
      if (!group.changes.every(({ key }) => saved.has(key))) {
        again.push(...group.steps)
        continue
      }
      this.settle(group)
    }
    return again
  }

  /** A step may notify without a change: a holder is asked to release. */
  private async notify(group: StepGroup<R, S>): Promise<void> {
    const notifications = this.forOthers(group.notifications)
    if (notifications.length > 0) await this.table.notify(notifications)
    this.settle(group)
  }

  private forOthers(notifications: readonly KeyNotification[]): readonly KeyNotification[] {
    return notifications.filter((each) => each.inbox !== null && !this.local.isOwn(each))
  }

  private settle({ steps, notifications }: StepGroup<R, S>): void {
    for (const step of steps) step.done()
    for (const each of notifications) if (this.local.isOwn(each)) this.local.deliver(each)
  }

  private async afterError(
    groups: readonly StepGroup<R, S>[],
    clock: Clock,
    whole: boolean,
    error: unknown,
  ): Promise<readonly Step<S>[]> {
    const reason = this.reasonOf(error)
    if (reason === 'locked' && groups.length > 1) {
      // One locked row must not block the others.
      const apart = await Promise.all(groups.map((group) => this.save([group], clock, whole)))
      return apart.flat()
    }
    const steps = groups.flatMap((group) => group.steps)
    if (reason === 'conflict') return steps
    for (const step of steps) {
      if (reason === 'locked') step.blocked(clock, error)
      else step.failed(error)
    }
    return []
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, delayMs, false)
    })
  }
}

const TOO_CONTENDED = `others changed the same rows for ${GIVE_UP_MS} ms, each time before this process could`

function fail(steps: readonly Step<never>[], error: unknown): void {
  for (const step of steps) step.failed(error)
}

/** Steps that share keys, directly or through others, form one group; their order is kept. */
function groupsOf<T extends { readonly keys: readonly string[] }>(steps: readonly T[]): T[][] {
  const groups = new Map<string, T[]>()
  for (const step of steps) {
    const met = new Set(step.keys.map((key) => groups.get(key)).filter((group) => group !== undefined))
    const [group = [], ...others] = met
    for (const other of others) {
      group.push(...other)
      for (const { keys } of other) for (const key of keys) groups.set(key, group)
    }
    group.push(step)
    for (const key of step.keys) groups.set(key, group)
  }
  return [...new Set(groups.values())]
}

/** The parts of each key that the steps depend on. */
function requestsOf(steps: readonly Step<never>[], deep: boolean): readonly ReadRequest[] {
  const needs = new Map<string, { key: string; ids: string[]; owners: string[]; heads: number }>()
  for (const { keys, claims = [], whole = false } of steps) {
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
