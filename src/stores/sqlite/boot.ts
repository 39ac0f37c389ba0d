import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Runtime } from '../../core/runtime.ts'
import type { Clock } from '../../model/index.ts'

/** What tells this run of the machine from every other. */
export interface Boot {
  /** Null where the system has no such id: then only a clock that went back shows that it was restarted. */
  readonly id: string | null
  /** The system's monotonic time when the runtime's own monotonic time was zero. */
  readonly originMs: number
}

/** Processes of one boot read the same clock; only their looks at the start can differ, by far less than this. */
const CLOCKS_APART_MS = 1000
const NANOSECONDS_PER_MS = 1_000_000n
const CLOSE_MS = 0.5
const MOST_LOOKS = 100

/**
 * The store's clock. Expiry counts on the machine's monotonic time, which every process of one boot shares and no
 * change of the wall clock touches. It means nothing to another boot, so what was written carries the boot's id.
 */
export class BootClock {
  /** The id that rows carry; empty when the system has none. */
  readonly bootId: string
  private readonly runtime: Runtime
  private readonly originMs: number
  private lastStampUs = 0

  constructor(runtime: Runtime, boot: Boot) {
    this.runtime = runtime
    this.bootId = boot.id ?? ''
    this.originMs = boot.originMs
  }

  read(): Clock {
    // Rising with every reading, so that a stamp is nearly always above the last one of its key.
    this.lastStampUs = Math.max(this.lastStampUs + 1, this.runtime.wallMs() * 1000)
    return { nowMs: this.nowMs(), stampUs: this.lastStampUs }
  }

  nowMs(): number {
    return Math.floor(this.originMs + this.runtime.nowMs())
  }

  wallMs(): number {
    return this.runtime.wallMs()
  }

  /** Whether something written under `bootId`, at `atMs` of its clock, is of another run of the machine. */
  isForeign(bootId: string, atMs: number, nowMs: number): boolean {
    return bootId !== this.bootId || (bootId === '' && atMs > nowMs + CLOCKS_APART_MS)
  }
}

export function thisBoot(runtime: Runtime): Boot {
  return { id: bootId(), originMs: originMs(runtime) }
}

/**
 * The two clocks are read one after the other, and a process may have to stand still in between: then it would write ends that come
 * too early for everybody else. So they are read until nothing came in between.
 */
function originMs(runtime: Runtime): number {
  const offsetMs = namespaceOffsetMs()
  let best = { apartMs: Number.POSITIVE_INFINITY, originMs: 0 }
  for (let look = 0; look < MOST_LOOKS && best.apartMs > CLOSE_MS; look++) {
    const beforeMs = runtime.nowMs()
    const machineMs = monotonicMs() - offsetMs
    const apartMs = runtime.nowMs() - beforeMs
    if (apartMs < best.apartMs) best = { apartMs, originMs: machineMs - beforeMs - apartMs / 2 }
  }
  return best.originMs
}

/** The runtime's monotonic time begins anew in every process; this one is the whole machine's. */
function monotonicMs(): number {
  // biome-ignore lint/plugin: read at the start, as the origin to which the runtime's own time is added.
  const nanoseconds = process.hrtime.bigint()
  return Number(nanoseconds / NANOSECONDS_PER_MS) + Number(nanoseconds % NANOSECONDS_PER_MS) / 1e6
}

function bootId(): string | null {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    if (process.platform !== 'darwin') return null
    return execFileSync('/usr/sbin/sysctl', ['-n', 'kern.bootsessionuuid'], {
      encoding: 'utf8',
      timeout: 2000,
    }).trim()
  } catch {
    return null
  }
}

/** A container may see a shifted monotonic clock while it shares the file with processes that do not. */
function namespaceOffsetMs(): number {
  try {
    const [, seconds = 0, nanoseconds = 0] =
      /^monotonic\s+(-?\d+)\s+(-?\d+)/m.exec(readFileSync('/proc/self/timens_offsets', 'utf8')) ?? []
    return Number(seconds) * 1000 + Number(nanoseconds) / 1e6
  } catch {
    return 0
  }
}
