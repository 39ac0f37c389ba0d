interface Keyed {
  readonly keys: readonly string[]
}

/**
 * Lets the tasks of this process take turns at each key. So a release never overtakes its own claim on another connection
 * of the pool, tasks do not conflict with their own kind, and those that wait for one key are done together.
 */
export class KeySerializer<T extends Keyed> {
  private readonly start: (tasks: readonly T[]) => readonly Promise<readonly T[]>[]
  private readonly busy = new Set<string>()
  private waiting: T[] = []

  /** `start` begins work on tasks of different rounds' keys; each of its promises resolves to tasks that are through. */
  constructor(start: (tasks: readonly T[]) => readonly Promise<readonly T[]>[]) {
    this.start = start
  }

  add(tasks: readonly T[]): void {
    // One alone, at which nobody works or waits, is the usual case.
    if (tasks.length === 1 && this.waiting.length === 0 && this.isFree(tasks[0] as T)) {
      this.begin(tasks)
      return
    }
    this.waiting.push(...tasks)
    this.next()
  }

  private next(): void {
    const ready = this.takeReady()
    if (ready.length > 0) this.begin(ready)
  }

  private begin(ready: readonly T[]): void {
    for (const { keys } of ready) for (const key of keys) this.busy.add(key)
    for (const part of this.start(ready)) void part.then((through) => this.leave(through))
  }

  private isFree({ keys }: T): boolean {
    return keys.every((key) => !this.busy.has(key))
  }

  /** Those whose keys nobody works on, and nobody waits for before them. */
  private takeReady(): readonly T[] {
    if (this.waiting.length === 0) return []
    const taken = new Set(this.busy)
    const ready: T[] = []
    const rest: T[] = []
    for (const task of this.waiting) {
      if (task.keys.every((key) => !taken.has(key))) {
        ready.push(task)
        continue
      }
      for (const key of task.keys) taken.add(key)
      rest.push(task)
    }
    this.waiting = rest
    return ready
  }

  private leave(through: readonly T[]): void {
    for (const { keys } of through) for (const key of keys) this.busy.delete(key)
    this.next()
  }
}
