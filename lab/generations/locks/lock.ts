/** How a generation reaches its server: one command, one answer. */
export interface Redis {
  call(...words: readonly (string | number)[]): Promise<unknown>
}

/** The proof that a holder has. */
export interface Held {
  /** The holder by the key's value; null where it does not tell. */
  readonly id: string | null
  /** Null where the lock has none. */
  readonly token: bigint | null
  /** How long it is still valid by the holder's own clock, 0 when it is not; null where a holder cannot know. */
  validForMs(): number | null
  /** Gives the key back, and says what the server made of it. */
  release(): Promise<CommandReply>
}

/** The command that was sent last for something, and what came back. */
export interface CommandReply {
  readonly command: string
  readonly reply: string
}

export interface HandMadeGrant {
  readonly held: Held
  readonly answer: CommandReply
}

/** One generation of the lock. */
export interface Lock {
  /** Null when another has the key for longer than `waitMs`. */
  acquire(key: string, ttlMs: number, waitMs: number): Promise<HandMadeGrant | null>
  close(): Promise<void>
}

/** Where the tests of a generation may make it stand still: between two commands that look like one. */
export type Seam = () => Promise<void>
