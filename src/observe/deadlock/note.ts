import type { Blockage } from '../../core/reentry/blockage.ts'
import type { Mode } from '../../model/index.ts'

/** The message of a process to the others while one of its actors waits and holds. */
export interface Note {
  readonly process: string
  readonly label: string
  /** Rises with every note; each is written after the one before has arrived. */
  readonly count: number
  /** One of its waits may be ended to end a deadlock. */
  readonly abort: boolean
  readonly waits: readonly NotedWait[]
  readonly holds: readonly NotedHold[]
}

export interface NotedWait {
  readonly id: number
  /** Keys are those of the store, with the prefix. */
  readonly key: string
  readonly mode: Mode
  readonly actor: string
  /** By the wall clock of the process: for comparing the begin of waits, not for measuring. */
  readonly sinceMs: number
  readonly waitedMs: number
}

export interface NotedHold {
  readonly id: number
  readonly key: string
  readonly token: bigint
  readonly heldMs: number
  readonly waits: readonly number[]
}

/** A live process publishes far more often, so that only a dead one's note expires. */
export const NOTE_TTL_MS = 5000

const FORMAT = 1

export function noteOf(blockage: Blockage, about: Pick<Note, 'process' | 'label' | 'count' | 'abort'>): Note {
  return {
    ...about,
    waits: blockage.waits.map(({ storeKey, waitedMs, ...wait }) => ({
      ...wait,
      key: storeKey,
      waitedMs: Math.round(waitedMs),
    })),
    holds: blockage.holds.flatMap(({ id, storeKey, token, heldMs, waits }) =>
      // Without a token this hold could not be told from the next one.
      token === null ? [] : [{ id, key: storeKey, token, heldMs: Math.round(heldMs), waits }],
    ),
  }
}

/** The name of the record. It has no prefix, so that an operator finds all notes. */
export function noteKey(process: string): string {
  return `deadlock:${process}`
}

export function formatNote(note: Note): string {
  return JSON.stringify({ format: FORMAT, ...note }, (_, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
}

/** Null for a note of another version, whose format is unknown. */
export function parseNote(text: string): Note | null {
  const note = JSON.parse(text) as { format: number } & Note
  if (note.format !== FORMAT) return null
  return { ...note, holds: note.holds.map((hold) => ({ ...hold, token: BigInt(hold.token) })) }
}
