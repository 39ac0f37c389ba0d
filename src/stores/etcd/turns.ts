/** Lets tasks of one name run one after the other. */
export class Turns {
  private readonly last = new Map<string, Promise<unknown>>()

  next<T>(name: string, task: () => Promise<T>): Promise<T> {
    const before = this.last.get(name)
    const turn = before === undefined ? task() : before.then(task, task)
    this.last.set(name, turn)
    const end = (): void => {
      if (this.last.get(name) === turn) this.last.delete(name)
    }
    turn.then(end, end)
    return turn
  }
}
