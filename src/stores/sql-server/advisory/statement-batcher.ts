import type { LockPlan } from './session-locks.ts'
import type { LockOperation } from './session-server.ts'

/** Runs the operations on the session; resolves to their results in order. */
type Run = (operations: readonly LockOperation[], ttlMs: number) => Promise<readonly boolean[]>

type Asked = readonly [request: Request, plan: LockPlan<unknown>]

/** A request about one lock; it is planned when its turn comes. */
interface Request {
  readonly name: string
  plan(): LockPlan<unknown>
  readonly call: Call
  readonly index: number
}

/** Requests that came together and are answered together. */
interface Call {
  readonly answers: unknown[]
  open: number
  resolve(answers: readonly unknown[]): void
  reject(error: unknown): void
}

/**
 * Sends one statement at a time, for all requests that arrived during the last one. So a release never overtakes its claim, and a lock
 * is never decided while another answer about it is outstanding.
 */
export class StatementBatcher {
  private readonly run: Run
  private queue: Request[] = []
  private busy = false

  constructor(run: Run) {
    this.run = run
  }

  /** Plans a request for each thing, about the lock that `nameOf` gives. */
  add<T, A>(
    things: readonly T[],
    nameOf: (thing: T) => string,
    planOf: (name: string, thing: T) => LockPlan<A>,
  ): Promise<readonly A[]> {
    if (things.length === 0) return Promise.resolve([])
    return new Promise<readonly A[]>((resolve, reject) => {
      const call = { answers: [], open: things.length, resolve, reject } as Call
      for (const [index, thing] of things.entries()) {
        const name = nameOf(thing)
        this.queue.push({ name, plan: () => planOf(name, thing), call, index })
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

  /** Answers the requests that need no statement and returns the others, for every lock in order. */
  private next(): readonly Asked[] {
    const asked: Asked[] = []
    const rest: Request[] = []
    const taken = new Set<string>()
    for (const request of this.queue) {
      if (taken.has(request.name)) {
        rest.push(request)
        continue
      }
      const plan = request.plan()
      if (plan.asks) asked.push([request, plan])
      else answer(request, plan.settle([]))
      if (plan.alone) taken.add(request.name)
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
      let index = 0
      for (const [request, plan] of asked) {
        const end = index + plan.operations.length
        answer(request, plan.settle(done.slice(index, end)))
        index = end
      }
      this.work()
    }
    this.run(operations, ttlMs).then(settle, (error) => {
      for (const [{ call }] of asked) call.reject(error)
      this.work()
    })
  }
}

function answer({ call, index }: Request, answer: unknown): void {
  call.answers[index] = answer
  if (--call.open === 0) call.resolve(call.answers)
}
