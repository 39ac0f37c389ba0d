import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '../../../src/index.ts'
import { nowMs } from '../clock.ts'
import type { Generation } from '../locks/index.ts'
import { WireConnection } from '../wire/connection.ts'

/** The server's view of the key at one moment: its value or its holder, or null when it was free. */
export interface KeySample {
  readonly atMs: number
  readonly value: string | null
}

const LOOK_MS = 8

/** Looks at the key all the time, on a connection of its own: what the server thinks, not what the processes believe. */
export class KeyWatch {
  readonly samples: KeySample[] = []
  private readonly read: () => Promise<string | null>
  private readonly end: () => Promise<void>
  private stopped = false
  private readonly finished: Promise<void>

  private constructor(read: () => Promise<string | null>, end: () => Promise<void>) {
    this.read = read
    this.end = end
    this.finished = this.look()
  }

  static async over(generation: Generation, url: string, key: string): Promise<KeyWatch> {
    if (generation === 'fenced') {
      const locks = await connect(url)
      return new KeyWatch(
        async () => (await locks.read(key)).holders[0]?.label ?? null,
        () => locks.close(),
      )
    }
    const connection = await WireConnection.open(url)
    return new KeyWatch(
      async () => (await connection.call('GET', key)) as string | null,
      async () => connection.close(),
    )
  }

  async stop(): Promise<void> {
    this.stopped = true
    await this.finished
    await this.end()
  }

  private async look(): Promise<void> {
    while (!this.stopped) {
      try {
        const value = await this.read()
        this.samples.push({ atMs: nowMs(), value })
      } catch {
        // The server was ended; what it said until then stands.
        return
      }
      await sleep(LOOK_MS)
    }
  }
}
