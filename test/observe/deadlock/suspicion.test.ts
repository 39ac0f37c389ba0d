import type { HolderView, KeyView } from 'holdfast'
import { expect, test } from 'vitest'
import type { LockWorld, WorldView } from '../../../src/observe/deadlock/look.ts'
import type { Note } from '../../../src/observe/deadlock/note.ts'
import { Suspicions } from '../../../src/observe/deadlock/suspicion.ts'

const PROCESSES = { p: 'process--p', q: 'process--q' }

/** A process that holds one key and waits for another, as its note says. */
function noteOf(process: 'p' | 'q', count: number, holds: string, waits: string, waitId = 7): Note {
  return {
    process: PROCESSES[process],
    label: process,
    count,
    abort: true,
    waits: [{ id: waitId, key: waits, mode: { kind: 'exclusive' }, actor: '#1', sinceMs: 1, waitedMs: 2000 }],
    holds: [{ id: 1, key: holds, token: 256n, heldMs: 3000, waits: [waitId] }],
  }
}

function viewOf(key: string, process: 'p' | 'q', token = 256n): KeyView {
  const holder: HolderView = {
    label: process,
    owner: null,
    actor: `@${PROCESSES[process]}`,
    mode: 'exclusive',
    weight: 1,
    token,
    heldMs: 3000,
    expiresInMs: 9000,
    meta: null,
  }
  return { key, holders: [holder], queue: [], token, limit: null, closedForMs: 0 }
}

/** Looks at two processes that nobody of this one is part of. */
class Observer implements LockWorld {
  now = 0
  notes: Note[] = []
  views = [viewOf('a', 'p'), viewOf('b', 'q')]
  readonly suspicions = new Suspicions(this, { ordered: true, notes: true })

  read = async (): Promise<KeyView> => this.views[0] as KeyView
  list = (): AsyncIterable<KeyView> => [] as unknown as AsyncIterable<KeyView>
  note = async (process: string): Promise<Note | null> =>
    this.notes.find((note) => note.process === process) ?? null
  own = (): null => null
  nowMs = (): number => this.now

  async look(...notes: Note[]): Promise<number> {
    this.notes = notes
    this.now += 100
    const look: WorldView = {
      views: new Map(this.views.map((view) => [view.key, view])),
      notes: new Map(notes.map((note) => [note.process, note])),
      beganMs: this.now,
      endedMs: this.now,
    }
    return (await this.suspicions.judge(look)).length
  }
}

const both = (pCount: number, qCount: number): [Note, Note] => [
  noteOf('p', pCount, 'a', 'b'),
  noteOf('q', qCount, 'b', 'a'),
]

test('a cycle is certain when every member has published the same again, in a note written after the first look', async () => {
  const observer = new Observer()
  expect(await observer.look(...both(10, 20))).toBe(0)
  expect(await observer.look(...both(10, 20))).toBe(0)
  // The next note may have been on its way already.
  expect(await observer.look(...both(11, 21))).toBe(0)
  expect(await observer.look(...both(12, 21))).toBe(0)
  expect(await observer.look(...both(12, 22))).toBe(1)
})

test('another wait of the same actor begins anew', async () => {
  const observer = new Observer()
  await observer.look(...both(10, 20))
  const [p] = both(12, 22)
  expect(await observer.look(p, noteOf('q', 22, 'b', 'a', 8))).toBe(0)
  expect(await observer.look(p, noteOf('q', 23, 'b', 'a', 8))).toBe(0)
  expect(await observer.look(...both(13, 23))).toBe(0)
})

test('another hold of the same key begins anew', async () => {
  const observer = new Observer()
  await observer.look(...both(10, 20))
  observer.views = [viewOf('a', 'p', 512n), viewOf('b', 'q')]
  expect(await observer.look(...both(12, 22))).toBe(0)
  expect(observer.suspicions.size).toBe(0)
})

test('a process that no longer publishes is not in a cycle any more', async () => {
  const observer = new Observer()
  await observer.look(...both(10, 20))
  const [p] = both(12, 22)
  expect(await observer.look(p)).toBe(0)
  expect(observer.suspicions.size).toBe(0)
})

test('everybody names the same victim: the wait that began last, then the higher name', async () => {
  const observer = new Observer()
  const [p, q] = both(10, 20)
  await observer.look(p, q)
  observer.notes = []
  const victimOf = async (...notes: Note[]): Promise<string | undefined> => {
    const look = {
      views: new Map(observer.views.map((view) => [view.key, view])),
      notes: new Map(notes.map((note) => [note.process, note])),
      beganMs: 0,
      endedMs: 0,
    }
    const [found] = await observer.suspicions.judge(look)
    return found?.waiters[found.victim ?? -1]?.label
  }
  const [later, sooner] = both(12, 22)
  expect(await victimOf(later, sooner)).toBe('q')
  expect(await victimOf(sooner, later)).toBe('q')
  const young = { ...later, waits: later.waits.map((wait) => ({ ...wait, sinceMs: 2 })) }
  expect(await victimOf(young, sooner)).toBe('p')
  expect(await victimOf({ ...young, abort: false }, sooner)).toBe('q')
})
