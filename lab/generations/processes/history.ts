/** The events, in the order in which the organiser learnt of them. */
export type Kind =
  | 'asked'
  | 'took'
  | 'gaveUp'
  | 'stood'
  | 'killed'
  | 'paused'
  | 'woken'
  | 'lost'
  | 'sold'
  | 'refused'
  | 'left'
  | 'released'
  | 'serverDied'
  | 'promoted'

export interface ActorEvent {
  readonly kind: Kind
  /** The process that it happened to; empty for a server. */
  readonly actor: string
  readonly atMs: number
  readonly text: string
  /** The value of the key, by which its owner is known in the server; on `took`. */
  readonly id?: string | null
  /** When the lease had ended, which the process may have learnt later; on `lost`. */
  readonly sinceMs?: number
  /** The server's answer; on `took` and `released`. */
  readonly command?: string
  readonly reply?: string
}

/** Part of a row of the timeline. */
export interface TimeSpan {
  readonly fromMs: number
  readonly toMs: number
}

export interface Overlap extends TimeSpan {
  readonly actors: readonly [string, string]
}

/** Everything that happened in one story. */
export class History {
  readonly events: ActorEvent[] = []
  private readonly onEvent: (event: ActorEvent) => void

  constructor(onEvent: (event: ActorEvent) => void) {
    this.onEvent = onEvent
  }

  add(event: ActorEvent): void {
    this.events.push(event)
    this.onEvent(event)
  }

  get actors(): string[] {
    return [...new Set(this.events.map(({ actor }) => actor).filter(Boolean))].sort()
  }

  when(actor: string, ...kinds: readonly Kind[]): number | null {
    return this.find(actor, ...kinds)?.atMs ?? null
  }

  find(actor: string, ...kinds: readonly Kind[]): ActorEvent | undefined {
    return this.events.find((event) => event.actor === actor && kinds.includes(event.kind))
  }
}
