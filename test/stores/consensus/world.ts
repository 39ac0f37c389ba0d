/** An ensemble whose members can fail, and what it says of itself. Whatever fails is undone by the function that is returned. */
export interface World {
  /** As a user would connect to it. */
  readonly url: string
  /** The same by one way alone: a member, or a proxy before it. */
  urlBy(port: number): string
  /** How many answers a claim waits for before it joins a line. */
  readonly answersBeforeLine: number
  /** How many connections a client keeps, once it knows what it has to know. */
  readonly connections: number
  /** Where the members are. */
  readonly ports: readonly number[]
  /** Ends the leader as a crash would. */
  killLeader(): Promise<() => Promise<void>>
  /** The leader stands still, its connections open. */
  pauseLeader(): Promise<() => void>
  /** A member that does not lead hears nothing of the others; clients still reach it. */
  partFollower(): Promise<() => void>
  /** All members crash and are started again. */
  restartAll(): Promise<void>
  /** Leftovers of clients, by its own count: 0 when there is nothing. */
  leftovers(): Promise<number>
  /** How many events of watches the members have sent, by their own count. */
  watchEvents(): Promise<number>
  stop(): Promise<void>
}
