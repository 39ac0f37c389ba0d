import type { LockPlan } from './session-locks.ts'
import type { LockOperation } from './session-server.ts'

/** Takes the operations on the session; their results in their order. */
type Run = (operations: readonly LockOperation[], ttlMs: number) => Promise<readonly boolean[]>

type Asked = readonly [task: Request, plan: LockPlan<unknown>]

/** A wish of this process about one lock; it is planned when its turn comes. */
interface Request {
  readonly name: string
  plan(): LockPlan<unknown>
  readonly call: Call
  readonly place: number
}

/** Wishes that came together and are answered together. */
interface Call {
  readonly answers: unknown[]
  open: number
  resolve(answers: readonly unknown[]): void
  reject(error: unknown): void
}

/**
 * One statement at a time, for all that came up while the last one was under way. So a release never overtakes its claim, and
 * nothing is decided about a lock while something else about it is not yet known.
 */
export class StatementBatcher {
  private readonly run: Run
  private queue: Request[] = []
  private busy = false

  constructor(run: Run) {
    this.run = run
  }

  /** Plans something about each of the things, which are about locks with these names. */
  add<T, A>(
    things: readonly T[],
    nameOf: (thing: T) => string,
    planOf: (name: string, thing: T) => LockPlan<A>,
  ): Promise<readonly A[]> {
    if (things.length === 0) return Promise.resolve([])
    return new Promise<readonly A[]>((resolve, reject) => {
      const call = { answers: [], open: things.length, resolve, reject } as Call
      for (const [place, thing] of things.entries()) {
        const name = nameOf(thing)
        this.queue.push({ name, plan: () => planOf(name, thing), call, place })
      }
      if (!this.busy) this.work()
    })
  }

  private work(): void {
    this.busy = false
    while (this.queue.length > 0) {
      const asked = this.next()
      if (asked.length === 0) continue
      this.busy = true
      this.ask(asked)
      return
    }
  }

  /** Answers what can be answered, and gives what has to be asked, for every lock in its order. */
  private next(): readonly Asked[] {
    const asked: Asked[] = []
    const rest: Request[] = []
    const taken = new Set<string>()
    for (const task of this.queue) {
      if (taken.has(task.name)) {
        rest.push(task)
        continue
      }
      const plan = task.plan()
      if (plan.asks) asked.push([task, plan])
      else answer(task, plan.settle([]))
      if (plan.alone) taken.add(task.name)
    }
    this.queue = rest
    return asked
  }

  private ask(asked: readonly Asked[]): void {
    const operations: LockOperation[] = []
    let ttlMs = 0
    for (const [, plan] of asked) {
      operations.push(...plan.operations)
      ttlMs = Math.max(ttlMs, plan.ttlMs)
    }
    const settle = (done: readonly boolean[]): void => {
      let place = 0
      for (const [task, plan] of asked) {
        const end = place + plan.operations.length
        answer(task, plan.settle(done.slice(place, end)))
        place = end
      }
      this.work()
    }
    this.run(operations, ttlMs).then(settle, (error) => {
      for (const [{ call }] of asked) call.reject(error)
      this.work()
    })
  }
}

function answer({ call, place }: Request, answer: unknown): void {
  call.answers[place] = answer
  if (--call.open === 0) call.resolve(call.answers)
}
