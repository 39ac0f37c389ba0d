import { type Story, storyOf } from '../../lab/faults/check/story.ts'
import type { Entry, Event, Mode } from '../../lab/faults/history.ts'

/** A history made by hand, of processes `a`, `b`, … on one key. */
export class Tale {
  private readonly events: Event[] = []

  tell(t: number, p: string, entry: Entry): this {
    this.events.push({ t, p, ...entry })
    return this
  }

  asked(
    t: number,
    op: string,
    { mode = 'exclusive' as Mode, weight = 1, waitMs = 5000, handover = false } = {},
  ): this {
    return this.tell(t, processOf(op), { f: 'asked', op, key: 'k', mode, weight, waitMs, handover })
  }

  waiting(t: number, op: string): this {
    return this.tell(t, processOf(op), { f: 'waiting', op })
  }

  granted(t: number, op: string, token: number, untilMs = t + 2000): this {
    return this.tell(t, processOf(op), { f: 'granted', op, token: String(token), untilMs })
  }

  /** Lets go, and hears of it a moment later. */
  released(t: number, op: string, outcome: 'released' | 'expired' | 'unknown' = 'released'): this {
    this.tell(t, processOf(op), { f: 'releasing', op })
    return this.tell(t + 1, processOf(op), { f: 'released', op, outcome })
  }

  /** A whole visit: asked, granted at once, and let go. */
  visit(from: number, to: number, op: string, token: number, mode: Mode = 'exclusive', weight = 1): this {
    return this.asked(from - 1, op, { mode, weight })
      .granted(from, op, token)
      .released(to, op)
  }

  fault(from: number, to: number, kind: string, target = 'server'): this {
    const id = this.events.length + 1
    this.tell(from, 'runner', { f: 'fault', id, kind, target })
    return this.tell(to, 'runner', { f: 'healed', id })
  }

  write(t: number, op: string, token: number, accepted = true): this {
    return this.tell(t, 'witness', { f: 'write', op, key: 'k', token: String(token), accepted })
  }

  /** Nothing more happens until then. */
  until(t: number): this {
    return this.tell(t, 'runner', { f: 'begun', worker: 'nobody' })
  }

  get story(): Story {
    return storyOf([...this.events].sort((one, other) => one.t - other.t))
  }
}

function processOf(op: string): string {
  return op.split('-')[0] as string
}
