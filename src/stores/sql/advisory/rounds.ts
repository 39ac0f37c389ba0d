import type { Plan } from './book.ts'
import type { Step } from './connection.ts'

/** A wish of this process about one lock; it is planned when its turn comes. */
export interface Task<A = unknown> {
  readonly name: string
  plan(): Plan<A>
  resolve(answer: A): void
  reject(error: unknown): void
}

/** Takes the steps on the session; their results in their order. */
type Run = (steps: readonly Step[], ttlMs: number) => Promise<readonly boolean[]>

/**
 * One statement at a time, for all that came up while the last one was under way. So a release never overtakes its claim, and
 * nothing is decided about a lock while something else about it is not yet known.
 */
export class Rounds {
  private readonly run: Run
  private queue: Task[] = []
  private busy = false

  constructor(run: Run) {
    this.run = run
  }

  add<A>(name: string, plan: () => Plan<A>): Promise<A> {
    return new Promise((resolve, reject) => {
      this.queue.push({ name, plan, resolve, reject } as Task<A> as Task)
      if (!this.busy) void this.work()
    })
  }

  private async work(): Promise<void> {
    this.busy = true
    // The claims of one call are added one after the other.
    await null
    while (this.queue.length > 0) await this.round(this.next())
    this.busy = false
  }

  /** Answers what can be answered, and gives what has to be asked, for every lock in its order. */
  private next(): readonly (readonly [Task, Plan<unknown>])[] {
    const asked: (readonly [Task, Plan<unknown>])[] = []
    const rest: Task[] = []
    const taken = new Set<string>()
    for (const task of this.queue) {
      if (taken.has(task.name)) {
        rest.push(task)
        continue
      }
      const plan = task.plan()
      if (plan.asks) asked.push([task, plan])
      else task.resolve(plan.settle([]))
      if (plan.alone) taken.add(task.name)
    }
    this.queue = rest
    return asked
  }

  private async round(asked: readonly (readonly [Task, Plan<unknown>])[]): Promise<void> {
    if (asked.length === 0) return
    const steps = asked.flatMap(([, plan]) => plan.steps)
    const ttlMs = Math.max(...asked.map(([, plan]) => plan.ttlMs))
    let done: readonly boolean[]
    try {
      done = await this.run(steps, ttlMs)
    } catch (error) {
      for (const [task] of asked) task.reject(error)
      return
    }
    let place = 0
    for (const [task, { steps, settle }] of asked) {
      task.resolve(settle(done.slice(place, place + steps.length)))
      place += steps.length
    }
  }
}
