import type { KeyState, Shelf } from '../../model/index.ts'

/** The rows that one transaction works on: each is read once and written once, and only if it changed. */
export class RowShelf implements Shelf {
  readonly changed = new Map<string, KeyState>()
  private readonly loaded = new Map<string, KeyState>()
  private readonly load: (key: string) => KeyState

  constructor(load: (key: string) => KeyState) {
    this.load = load
  }

  get(key: string): KeyState {
    let state = this.loaded.get(key)
    if (state === undefined) {
      state = this.load(key)
      this.loaded.set(key, state)
    }
    return state
  }

  put(key: string, state: KeyState): void {
    if (isSame(this.get(key), state)) return
    this.loaded.set(key, state)
    this.changed.set(key, state)
  }
}

/** The model replaces what it changes, so the same arrays mean the same content. */
export function isSame(before: KeyState, after: KeyState): boolean {
  return (
    before.holds === after.holds &&
    before.line === after.line &&
    before.seq === after.seq &&
    before.closedUntilMs === after.closedUntilMs
  )
}
