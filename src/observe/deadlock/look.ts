import { type KeyView, seqOf } from '../../model/index.ts'
import type { Note } from './note.ts'

/** A view of all processes. Keys are those of the store. */
export interface LockWorld {
  read(key: string): Promise<KeyView>
  list(): AsyncIterable<KeyView>
  /** The note of a process; null when there is none. */
  note(process: string): Promise<Note | null>
  /** The note that this process would leave right now. */
  own(): Note | null
  nowMs(): number
}

/** Keys and notes, read one after another: they need not have been true at the same moment. */
export interface WorldView {
  readonly views: ReadonlyMap<string, KeyView>
  readonly notes: ReadonlyMap<string, Note>
  readonly beganMs: number
  readonly endedMs: number
}

/** The most keys that one look reads. */
const MOST_KEYS = 1000
/** The caller's name of an actor, if any, and the process of the claim. */
const KNOWN_ACTOR = /^(.*)@([\w-]{10})$/s

export function processOf(actor: string | null): string | null {
  return actor === null ? null : (KNOWN_ACTOR.exec(actor)?.[2] ?? null)
}

/** The actor as its caller named it. */
export function givenName(actor: string | null): string | null {
  if (actor === null || processOf(actor) === null) return actor
  return KNOWN_ACTOR.exec(actor)?.[1] || null
}

/** Reads these keys, the keys that their holders wait for, and so on. */
export async function chase(world: LockWorld, keys: Iterable<string>): Promise<WorldView> {
  const looking = new Looking(world)
  let next = [...new Set(keys)]
  while (next.length > 0 && looking.views.size < MOST_KEYS) {
    const views = await Promise.all(next.slice(0, MOST_KEYS).map((key) => world.read(key)))
    for (const view of views) looking.views.set(view.key, view)
    await looking.ask(views)
    next = [...new Set(views.flatMap((view) => looking.waitedForBy(view)))].filter(
      (key) => !looking.views.has(key),
    )
  }
  return looking.end()
}

/** Reads every key with a waiter or with a known actor. */
export async function survey(world: LockWorld): Promise<WorldView> {
  const looking = new Looking(world)
  for await (const view of world.list()) {
    const isTold = [...view.holders, ...view.queue].some(({ actor }) => actor !== null)
    if (view.queue.length > 0 || isTold) looking.views.set(view.key, view)
  }
  await looking.ask([...looking.views.values()])
  return looking.end()
}

class Looking {
  readonly views = new Map<string, KeyView>()
  private readonly world: LockWorld
  private readonly notes = new Map<string, Note>()
  private readonly asked = new Set<string>()
  private readonly beganMs: number

  constructor(world: LockWorld) {
    this.world = world
    this.beganMs = world.nowMs()
    const own = world.own()
    if (own !== null) {
      this.asked.add(own.process)
      this.notes.set(own.process, own)
    }
  }

  /** Reads the notes of the processes that hold these keys or wait for them. */
  async ask(views: readonly KeyView[]): Promise<void> {
    const processes = new Set<string>()
    for (const { holders, queue } of views) {
      for (const { actor } of [...holders, ...queue]) {
        const process = processOf(actor)
        if (process !== null && !this.asked.has(process)) processes.add(process)
      }
    }
    for (const process of processes) this.asked.add(process)
    const notes = await Promise.all([...processes].map((process) => this.world.note(process)))
    for (const note of notes) if (note !== null) this.notes.set(note.process, note)
  }

  /** The keys that the holders of this one wait for. */
  waitedForBy({ key, holders }: KeyView): string[] {
    return holders.flatMap(({ actor, token }) => {
      const note = this.notes.get(processOf(actor) ?? '')
      if (note === undefined || token === null) return []
      const waits = note.holds
        .filter((hold) => hold.key === key && seqOf(hold.token) === seqOf(token))
        .flatMap((hold) => hold.waits)
      return note.waits.filter(({ id }) => waits.includes(id)).map((wait) => wait.key)
    })
  }

  end(): WorldView {
    return { views: this.views, notes: this.notes, beganMs: this.beganMs, endedMs: this.world.nowMs() }
  }
}
