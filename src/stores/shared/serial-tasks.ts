/** Runs tasks of the same name one after the other. */
export class SerialTasks {
  private readonly last = new Map<string, Promise<unknown>>()

  run<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.last.get(name)
    const result = before === undefined ? task() : before.then(task, task)
    this.last.set(name, result)
    const end = (): void => {
      if (this.last.get(name) === result) this.last.delete(name)
    }
    result.then(end, end)
    return result
  }
}
