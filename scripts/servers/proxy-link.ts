import type { Socket } from 'node:net'

export type Direction = 'requests' | 'replies'

/** One connection through the proxy: the sockets of both ends, and the bytes that were held back. */
export interface Link {
  readonly client: Socket
  readonly server: Socket
  readonly waiting: Record<Direction, Buffer[]>
  /** The client's first message: its identity, if its protocol tells. */
  opening: Buffer | null
  /** How late its chunks are, beyond those of all. */
  lagMs: number
  /** How many of them are on their way; what ends the connection comes after them. */
  late: number
  readonly afterwards: (() => void)[]
  /** Bytes of the stream are missing, so that it can only be cut. */
  torn: boolean
  /** Nothing goes through any more, whatever becomes of the others. */
  silent: boolean
  /** The next reply is thrown away, and the connection with it. */
  doomed: (() => void) | null
}

/** The fate of the connection whose next request has `part` in it: it is cut with its reply, or falls silent before it. */
export interface Trap {
  readonly part: Buffer
  readonly silences: boolean
  readonly sprung: () => void
}

/** Does it when nothing of that connection is on its way any more. */
export function afterLate(link: Link, act: () => void): void {
  if (link.late === 0) act()
  else link.afterwards.push(act)
}
