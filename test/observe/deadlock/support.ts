import type { DeadlockStep, Locks, LocksOptions } from 'holdfast'
import { Scene } from '../../core/support.ts'

/** Something that work waits for until the test lets it go on. */
export class Gate {
  private resolve: () => void = () => {}
  readonly opened = new Promise<void>((resolve) => {
    this.resolve = resolve
  })

  open(): void {
    this.resolve()
  }
}

/** Processes on one store under a fake clock, each with what it told. */
export class Town extends Scene {
  /** How late every look at a key and every note is. */
  lookMs = 0
  /** The reporters of each cycle. */
  readonly told: { by: string; cycle: readonly DeadlockStep[]; victim: string | null }[] = []

  locks(label: string, onDeadlock?: 'abort' | 'report', more: LocksOptions = {}): Locks {
    const looking = onDeadlock === undefined ? {} : { onDeadlock }
    const { locks, faults } = this.party({ label, wait: Number.POSITIVE_INFINITY, ...looking, ...more })
    if (this.lookMs > 0) {
      faults.every('admin', { kind: 'delay', ms: this.lookMs })
      faults.every('records', { kind: 'delay', ms: this.lookMs })
    }
    locks.on('deadlock', ({ cycle, victim }) =>
      this.told.push({ by: label, cycle, victim: victim?.label ?? null }),
    )
    return locks
  }

  pass(ms: number): Promise<void> {
    return this.runtime.advance(ms)
  }
}

/** The state of a promise. */
export function outcomeOf(promise: Promise<unknown>): { value: unknown; error: unknown; settled: boolean } {
  const outcome = { value: undefined as unknown, error: undefined as unknown, settled: false }
  promise.then(
    (value) => Object.assign(outcome, { value, settled: true }),
    (error: unknown) => Object.assign(outcome, { error, settled: true }),
  )
  return outcome
}

/** One holds the first key, and asks for the second when the gate opens. */
export function nested(locks: Locks, first: string, second: string, gate: Gate, actor?: string) {
  const options = actor === undefined ? {} : { actor }
  return outcomeOf(
    locks.using(first, options, async () => {
      await gate.opened
      return await locks.using(second, options, () => 'done')
    }),
  )
}

export function membersOf(cycle: readonly DeadlockStep[]): string[] {
  return cycle.map(({ label, waitsFor, holds }) => `${label}: ${holds} -> ${waitsFor}`).sort()
}
