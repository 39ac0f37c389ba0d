import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { clockMs } from './clock.ts'

export type Mode = 'exclusive' | 'shared' | 'permits'

/** The outcome of an operation: `fail` certainly did not happen, `unknown` may have. */
export type Entry =
  | {
      readonly f: 'asked'
      readonly op: string
      readonly key: string
      readonly mode: Mode
      readonly weight: number
      readonly waitMs: number
      /** True if claims of one process may pass each other's line on this key. */
      readonly handover: boolean
    }
  | { readonly f: 'waiting'; readonly op: string }
  | { readonly f: 'granted'; readonly op: string; readonly token: string | null; readonly untilMs: number }
  | { readonly f: 'refused' | 'unknown'; readonly op: string; readonly why: string }
  /** The lease said that it was held, and until when at least. */
  | { readonly f: 'held'; readonly op: string; readonly untilMs: number }
  | { readonly f: 'lost'; readonly op: string }
  | { readonly f: 'releasing'; readonly op: string }
  | { readonly f: 'released'; readonly op: string; readonly outcome: 'released' | 'expired' | 'unknown' }
  /** The resource was asked to take a write, and has said what it made of it. */
  | {
      readonly f: 'write'
      readonly op: string
      readonly key: string
      readonly token: string
      readonly accepted: boolean
    }
  | { readonly f: 'fault'; readonly id: number; readonly kind: string; readonly target: string }
  | { readonly f: 'healed'; readonly id: number }
  | { readonly f: 'begun' | 'crashed'; readonly worker: string }
  /** This machine stood still: nobody is blamed for being late in that time. */
  | { readonly f: 'stalled'; readonly forMs: number }
  /** The store named this holder when it was asked . */
  | {
      readonly f: 'holder'
      readonly key: string
      readonly label: string
      readonly token: string
      readonly heldMs: number
    }
  | { readonly f: 'left'; readonly what: string }
  | { readonly f: 'complaint'; readonly text: string }

/** An entry with its time and the process that wrote it. */
export type Event = Entry & { readonly t: number; readonly p: string }

/** One process's part of the history, in a file of its own that is only ever added to: a kill takes nothing back. */
export class HistoryWriter {
  private readonly file: number
  private readonly process: string

  constructor(folder: string, process: string) {
    this.process = process
    this.file = openSync(join(folder, `${process}.jsonl`), 'a')
  }

  /** The time is read here, or given when it must be the one before or after something. */
  write(entry: Entry, t = clockMs()): void {
    writeSync(this.file, `${JSON.stringify({ t: Math.round(t * 1000) / 1000, p: this.process, ...entry })}\n`)
  }

  close(): void {
    closeSync(this.file)
  }
}

/** The history of all processes in the order of time. */
export function readHistory(folder: string): Event[] {
  const events: Event[] = []
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.jsonl'))) {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    // A worker killed in the middle of a line has not written it.
    lines.pop()
    for (const line of lines) events.push(JSON.parse(line) as Event)
  }
  return events.sort((one, other) => one.t - other.t)
}
