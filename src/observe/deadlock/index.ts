import type { Settings } from '../../core/options.ts'
import type { Actors } from '../../core/reentry/actors.ts'
import type { Admin, Records, Traits } from '../../core/store.ts'
import type { DeadlockStep } from '../../errors.ts'
import type { KeyView } from '../../model/index.ts'
import type { LockWorld } from './look.ts'
import { formatNote, NOTE_TTL_MS, type Note, noteKey, noteOf, parseNote } from './note.ts'
import { LONG_WAIT_MS, type Sight } from './scene.ts'
import { allCycles, type FoundCycles, provenCycles } from './search.ts'
import { DeadlockWatch, type WatchActions } from './watch.ts'

/** The part of the locks that deadlock detection needs. */
export interface Source {
  readonly traits: Traits
  readonly settings: Settings
  readonly admin: Admin
  readonly records: Records | null
  readonly actors: Actors | null
}

export interface Deadlocks {
  /**
   * The waits that would never end, over all processes. Each list is one cycle, and each of its members
   * waits for a key of the next. It takes a moment if there seems to be a cycle, because a cycle has to be seen twice.
   */
  deadlocks(): Promise<readonly (readonly DeadlockStep[])[]>
}

/** For the doctor, which also reports likely cycles. */
export interface DeadlockSearch extends Deadlocks {
  cycles(): Promise<FoundCycles>
}

export function deadlocksOf(source: Source): DeadlockSearch {
  const { actors, settings, traits, records } = source
  const { runtime } = settings
  const sight: Sight = { ordered: traits.order === 'fifo', notes: records !== null }
  const post = new Post(source)
  if (actors !== null) actors.watcher = new DeadlockWatch(actors, runtime, post, sight, post)
  return {
    deadlocks: async () => {
      const proven = await provenCycles(post, sight, runtime)
      return proven.map((steps) => steps.map((step) => post.shown(step)))
    },
    cycles: () => allCycles(post, sight, runtime),
  }
}

/** The view of the world through one `Locks` object, and its own notes. */
class Post implements LockWorld, WatchActions {
  private readonly source: Source
  private count = 1
  private published = false

  constructor(source: Source) {
    this.source = source
  }

  nowMs(): number {
    return this.source.settings.runtime.nowMs()
  }

  async read(key: string): Promise<KeyView> {
    return this.source.admin.read(key)
  }

  list(): AsyncIterable<KeyView> {
    return this.source.admin.list(this.source.settings.prefix)
  }

  async note(process: string): Promise<Note | null> {
    const record = await this.source.records?.read(noteKey(process))
    return record == null ? null : parseNote(record.value)
  }

  own(): Note | null {
    const { actors, settings } = this.source
    if (actors === null) return null
    const blockage = actors.blockage(LONG_WAIT_MS)
    if (blockage.waits.length === 0) return null
    const { process } = actors
    const { label, onDeadlock } = settings
    return noteOf(blockage, { process, label, count: this.count, abort: onDeadlock === 'abort' })
  }

  async publish(): Promise<void> {
    const note = this.own()
    const { records } = this.source
    if (note === null || records === null) return
    this.published = true
    await records.write(noteKey(note.process), formatNote(note), NOTE_TTL_MS, { kind: 'always' })
    // The next note counts as later only after this one has arrived.
    this.count++
  }

  async withdraw(): Promise<void> {
    const { actors, records } = this.source
    if (!this.published || actors === null) return
    this.published = false
    await records?.remove(noteKey(actors.process), { kind: 'always' })
  }

  tell(cycle: readonly DeadlockStep[], victim: DeadlockStep | null): void {
    this.source.actors?.events.emit('deadlock', { cycle, victim })
  }

  shown(step: DeadlockStep): DeadlockStep {
    return {
      ...step,
      waitsFor: this.short(step.waitsFor),
      holds: step.holds.map((key) => this.short(key)),
    }
  }

  private short(key: string): string {
    const { prefix } = this.source.settings
    return key.startsWith(prefix) ? key.slice(prefix.length) : key
  }
}
