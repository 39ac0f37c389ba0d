import type { WatchEvent } from './protocol.ts'

export type Watcher = (event: WatchEvent) => void

/** `data` and `children` watch a node that is there, `existence` one that is not there yet. */
export type WatchedPart = 'data' | 'existence' | 'children'

const PARTS: readonly WatchedPart[] = ['data', 'existence', 'children']
/** What a server accepts in one packet is limited, and a reconnect must not exceed it. */
const LETTERS_PER_PACKET = 100_000

/** Who waits for which event. Every watch is told once. */
export class Watches {
  private readonly watchers: Record<WatchedPart, Map<string, Set<Watcher>>> = {
    data: new Map(),
    existence: new Map(),
    children: new Map(),
  }

  get size(): number {
    return PARTS.reduce((sum, part) => sum + this.watchers[part].size, 0)
  }

  add(part: WatchedPart, path: string, watcher: Watcher): void {
    const known = this.watchers[part].get(path)
    if (known === undefined) this.watchers[part].set(path, new Set([watcher]))
    else known.add(watcher)
  }

  tell(event: WatchEvent): void {
    for (const part of partsOf(event)) {
      const told = this.watchers[part].get(event.path)
      this.watchers[part].delete(event.path)
      for (const watcher of told ?? []) watcher(event)
    }
  }

  /** The paths to be watched by the next server, in portions that fit a packet. */
  *portions(): Iterable<Record<WatchedPart, readonly string[]>> {
    let portion: Record<WatchedPart, string[]> = { data: [], existence: [], children: [] }
    let letters = 0
    for (const part of PARTS) {
      for (const path of this.watchers[part].keys()) {
        if (letters > LETTERS_PER_PACKET) {
          yield portion
          portion = { data: [], existence: [], children: [] }
          letters = 0
        }
        portion[part].push(path)
        letters += path.length
      }
    }
    if (letters > 0) yield portion
  }

  clear(): void {
    for (const part of PARTS) this.watchers[part].clear()
  }
}

function partsOf({ kind }: WatchEvent): readonly WatchedPart[] {
  switch (kind) {
    case 'children':
      return ['children']
    case 'deleted':
      return PARTS
    default:
      return ['data', 'existence']
  }
}
