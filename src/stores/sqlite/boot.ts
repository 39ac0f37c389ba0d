import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Runtime } from '../../core/runtime.ts'
import type { Clock } from '../../model/index.ts'

/** The identity of one run of the machine, from start to shutdown. */
export interface Boot {
  /** Null where the system has no such id: then only a clock that went back reveals a restart. */
  readonly id: string | null
  /** The system's monotonic time when the runtime's own monotonic time was zero. */
  readonly originMs: number
}

/** Processes of one boot read the same clock; their origins differ by far less than this. */
const CLOCKS_APART_MS = 1000
const NANOSECONDS_PER_MS = 1_000_000n
const CLOSE_MS = 0.5
const MOST_READINGS = 100

/**
 * The store's clock. Expiry uses the machine's monotonic time, which every process of one boot shares and which ignores changes of
 * the wall clock. It means nothing to another boot, so every row carries the id of its boot.
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
    // The stamp rises with every reading, so that it is nearly always above the last one of its key.
    this.lastStampUs = Math.max(this.lastStampUs + 1, this.runtime.wallMs() * 1000)
    return { nowMs: this.nowMs(), stampUs: this.lastStampUs }
  }

  nowMs(): number {
    return Math.floor(this.originMs + this.runtime.nowMs())
  }

  wallMs(): number {
    return this.runtime.wallMs()
  }

  /** True if a row of `bootId`, written at `atMs` of its clock, is older than the last restart. */
  isForeign(bootId: string, atMs: number, nowMs: number): boolean {
    return bootId !== this.bootId || (bootId === '' && atMs > nowMs + CLOCKS_APART_MS)
  }
}

export function thisBoot(runtime: Runtime): Boot {
  return { id: bootId(), originMs: originMs(runtime) }
}

/**
 * The two clocks are read one after the other. A process that stalls in between would write expiries that come too early for the
 * others, so the clocks are read until both readings are close.
 */
function originMs(runtime: Runtime): number {
  const offsetMs = namespaceOffsetMs()
  let best = { apartMs: Number.POSITIVE_INFINITY, originMs: 0 }
  for (let reading = 0; reading < MOST_READINGS && best.apartMs > CLOSE_MS; reading++) {
    const beforeMs = runtime.nowMs()
    const machineMs = monotonicMs() - offsetMs
    const apartMs = runtime.nowMs() - beforeMs
    if (apartMs < best.apartMs) best = { apartMs, originMs: machineMs - beforeMs - apartMs / 2 }
  }
  return best.originMs
}

/** The machine's monotonic time; the runtime's own begins at zero in every process. */
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
