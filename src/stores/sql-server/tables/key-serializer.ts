interface Keyed {
  readonly keys: readonly string[]
}

/**
 * Serializes the work of this process on each key. So a release never overtakes its own claim on another connection of the pool, the
 * process does not conflict with itself, and pending work on one key is done together.
 */
export class KeySerializer<T extends Keyed> {
  private readonly start: (tasks: readonly T[]) => readonly Promise<readonly T[]>[]
  private readonly busy = new Set<string>()
  private waiting: T[] = []

  /** `start` begins some tasks; each of its promises resolves to tasks that are done. */
  constructor(start: (tasks: readonly T[]) => readonly Promise<readonly T[]>[]) {
    this.start = start
  }

  add(tasks: readonly T[]): void {
    // A single task on free keys is the usual case.
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
    for (const part of this.start(ready)) void part.then((done) => this.leave(done))
  }

  private isFree({ keys }: T): boolean {
    return keys.every((key) => !this.busy.has(key))
  }

  /** Takes the tasks whose keys are free and that no earlier task waits for. */
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

  private leave(done: readonly T[]): void {
    for (const { keys } of done) for (const key of keys) this.busy.delete(key)
    this.next()
  }
}
