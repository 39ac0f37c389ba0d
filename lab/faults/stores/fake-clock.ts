import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Nemesis } from '../nemeses.ts'

const MACHINE = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const FAKETIME = `/usr/lib/${MACHINE}-linux-gnu/faketime/libfaketimeMT.so.1`
const LIBC = `/lib/${MACHINE}-linux-gnu/libc.so.6`

/** A wall clock of a program's own that can be set while it runs; the monotonic one stays as it is. */
export class FakeClock {
  readonly environment: Readonly<Record<string, string>>
  private readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-clock-'))

  private aheadSeconds = 0

  private constructor(preload: string) {
    this.environment = {
      LD_PRELOAD: preload,
      FAKETIME_TIMESTAMP_FILE: join(this.folder, 'offset'),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
    // Databases have users of their own, who have to read it.
    chmodSync(this.folder, 0o755)
    this.aheadBy(0)
  }

  /**
   * Of every other seed, so that half of the runs are of a server as it is. Null where the library is not installed: clocks cannot
   * be set there. The allocator of Redis asks for the time before the library is ready, unless that of the system goes first.
   */
  static of(seed: number): FakeClock | null {
    if (seed % 2 !== 0 || !existsSync(FAKETIME) || !existsSync(LIBC)) return null
    return new FakeClock(`${FAKETIME} ${LIBC}`)
  }

  /** Only ever ahead: a clock that goes back makes what a dead process held last longer, by as much as it went back. */
  nemesis(): Nemesis {
    return {
      kind: 'clock jump',
      lastsMs: [0, 0],
      strike: (random) => {
        const seconds = random.whole(1, 30)
        this.aheadBy(this.aheadSeconds + seconds)
        return { target: `+${seconds} s`, heal: () => {} }
      },
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  private aheadBy(seconds: number): void {
    this.aheadSeconds = seconds
    writeFileSync(join(this.folder, 'offset'), `+${seconds}s\n`)
  }
}
