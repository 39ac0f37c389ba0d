import { setTimeout as sleep } from 'node:timers/promises'
import { nowMs } from '../clock.ts'
import type { Stage } from '../context.ts'
import type { LabServer } from '../environments.ts'
import type { Bars, Table } from '../figures.ts'
import { claim, type Scenario } from '../scenario.ts'
import { WireConnection } from '../wire/connection.ts'

interface Mode {
  readonly name: string
  readonly settings: readonly string[]
  readonly snapshot: boolean
}

interface Loss {
  readonly name: string
  readonly acknowledged: number
  readonly perSecond: number
  readonly lost: number
  /** Acknowledged since the snapshot, or in the last second before the kill. */
  readonly recent: number
  readonly lockSurvived: boolean
}

const MODES: readonly Mode[] = [
  { name: 'RDB', settings: [], snapshot: true },
  { name: 'AOF everysec', settings: ['--appendonly', 'yes', '--appendfsync', 'everysec'], snapshot: false },
  { name: 'AOF always', settings: ['--appendonly', 'yes', '--appendfsync', 'always'], snapshot: false },
]
const WRITE_MS = 1_200
const SNAPSHOT_AFTER_MS = 500
const WRITERS = 8
const SYNC_MS = 1_000

/** Acknowledged writes that a killed server forgets. */
export const PERSISTENCE: Scenario = {
  name: 'persistence',
  group: 'persistence',
  breaksServers: true,
  title: 'kill -9: what RDB, AOF everysec and AOF always forget',
  about: `${WRITERS} writers count up, every OK is counted, one lock is taken, and the server is killed in the middle of it and started again on what it left on the disk. RDB takes one snapshot on the way.`,
  async run(stage) {
    const losses: Loss[] = []
    for (const mode of MODES) losses.push(await lossOf(mode, stage))
    const [rdb, everysec, always] = losses as [Loss, Loss, Loss]
    return {
      figures: [barsOf(losses), tableOf(losses)],
      claims: [
        claim(
          rdb.lost > 0 && Math.abs(rdb.lost - rdb.recent) <= WRITERS,
          `RDB forgot ${countOf(rdb.lost)} acknowledged writes: those since its snapshot`,
        ),
        claim(
          !rdb.lockSurvived,
          'the lock that was taken after the snapshot was gone: the next client gets it too',
        ),
        claim(
          everysec.lost <= everysec.recent,
          `AOF everysec forgot ${countOf(everysec.lost)}, no more than the ${countOf(everysec.recent)} of its last second`,
        ),
        claim(always.lost === 0 && always.lockSurvived, 'AOF always forgot nothing'),
      ],
      verdict:
        'kill -9 ends the process, not the machine: what AOF has written is in the hands of the kernel, so everysec mostly survives it. A power cut takes what was not synced as well: up to the writes of the last second, and a lock among them.',
      data: { losses },
    }
  },
}

async function lossOf({ name, settings, snapshot }: Mode, { place, screen }: Stage): Promise<Loss> {
  screen.follow(() => `  ${name} …`)
  const server = await place.crashable(settings)
  try {
    const acks = await writeUntilKilled(server, snapshot)
    await server.begin()
    const found = await lookInto(server, acks)
    const since = acks.snapshotAtMs ?? acks.killedAtMs - SYNC_MS
    return {
      name,
      acknowledged: acks.times.length,
      perSecond: Math.round((acks.times.length / (acks.killedAtMs - acks.startedAtMs)) * 1_000),
      recent: acks.times.filter((atMs) => atMs > since).length,
      ...found,
    }
  } finally {
    screen.clear()
    await server.stop()
  }
}

interface Acknowledged {
  readonly times: readonly number[]
  /** The last number of each writer that the server said OK to. */
  readonly last: readonly number[]
  readonly startedAtMs: number
  readonly snapshotAtMs: number | null
  readonly killedAtMs: number
}

async function writeUntilKilled(server: LabServer, snapshot: boolean): Promise<Acknowledged> {
  const times: number[] = []
  const last = Array<number>(WRITERS).fill(0)
  const clients = await Promise.all(
    Array.from({ length: WRITERS + 1 }, () => WireConnection.open(server.url)),
  )
  const [console, ...writers] = clients as [WireConnection, ...WireConnection[]]
  const startedAtMs = nowMs()
  const writing = writers.map(async (writer, at) => {
    // Until the server is gone. One after the other, so that at most one write of each is in doubt.
    for (;;) {
      last[at] = Number(await writer.call('INCR', counterOf(at)))
      times.push(nowMs())
    }
  })
  const over = Promise.allSettled(writing)
  await sleep(SNAPSHOT_AFTER_MS)
  if (snapshot) await console.call('SAVE')
  const snapshotAtMs = snapshot ? nowMs() : null
  await console.call('SET', 'lock', 'A', 'NX', 'PX', 600_000)
  await sleep(WRITE_MS - SNAPSHOT_AFTER_MS)
  const killedAtMs = nowMs()
  await server.crash()
  await over
  for (const client of clients) client.close()
  return { times, last, startedAtMs, snapshotAtMs, killedAtMs }
}

/** The part that the server has forgotten, now that it runs again. */
async function lookInto(
  server: LabServer,
  { last }: Acknowledged,
): Promise<Pick<Loss, 'lost' | 'lockSurvived'>> {
  const connection = await WireConnection.open(server.url)
  try {
    let lost = 0
    for (const [at, acknowledged] of last.entries())
      lost += Math.max(0, acknowledged - Number(await connection.call('GET', counterOf(at))))
    return { lost, lockSurvived: (await connection.call('GET', 'lock')) === 'A' }
  } finally {
    connection.close()
  }
}

function counterOf(writer: number): string {
  return `written:${writer}`
}

function barsOf(losses: readonly Loss[]): Bars {
  return {
    kind: 'bars',
    title: 'Acknowledged writes that kill -9 took away',
    limit: null,
    bars: losses.map(({ name, lost, acknowledged }) => ({
      name,
      value: lost,
      tone: lost === 0 ? 'good' : 'bad',
      remark: `${countOf(lost)} of ${countOf(acknowledged)}`,
    })),
  }
}

function tableOf(losses: readonly Loss[]): Table {
  return {
    kind: 'table',
    title: 'What it costs, and what a power cut would take',
    columns: ['', 'OK per second', 'lost by kill -9', 'a power cut may take', 'lock taken before'],
    rows: losses.map(({ name, perSecond, lost, recent, lockSurvived }) => [
      name,
      countOf(perSecond),
      countOf(lost),
      name === 'AOF always' ? '0' : `up to ${countOf(Math.max(lost, recent))}`,
      lockSurvived ? 'still there' : 'gone',
    ]),
  }
}

function countOf(count: number): string {
  return count.toLocaleString('en')
}
