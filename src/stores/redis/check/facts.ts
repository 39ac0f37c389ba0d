import type { Runtime } from '../../../core/runtime.ts'
import { pairsOf, type RedisClient } from '../clients/client.ts'

/** Facts that a server reports; null where it does not, or where the user lacks permission. */
export interface Facts {
  readonly port: string
  readonly version: string | null
  /** Valkey counts its versions on its own, and all of them are new enough. */
  readonly isValkey: boolean
  readonly evictionPolicy: string | null
  /** The part of its memory in use, 1 for all of it; null without a limit. */
  readonly memoryUsed: number | null
  readonly persistent: boolean | null
  readonly replicas: number | null
  /** Its clock minus ours. */
  readonly clockAheadMs: number | null
}

export async function factsOf(client: RedisClient, runtime: Runtime): Promise<Facts> {
  const [info, save, clockAheadMs] = await Promise.all([
    ask(client, 'INFO', []),
    ask(client, 'CONFIG', ['GET', 'save']),
    clockAhead(client, runtime),
  ])
  const said = new Map(
    textOf(info)
      .split('\r\n')
      .map((line) => line.split(':', 2) as [string, string]),
  )
  const version = said.get('redis_version') ?? null
  return {
    port: said.get('tcp_port') ?? '?',
    version,
    isValkey: said.has('valkey_version'),
    evictionPolicy: said.get('maxmemory_policy') ?? null,
    memoryUsed:
      Number(said.get('maxmemory')) > 0
        ? Number(said.get('used_memory')) / Number(said.get('maxmemory'))
        : null,
    persistent: persistence(said.get('aof_enabled'), savePoints(save)),
    replicas: said.get('role') === 'master' ? Number(said.get('connected_slaves')) : null,
    clockAheadMs,
  }
}

/** Null if the server refuses: many hosted services forbid CONFIG. */
function ask(client: RedisClient, command: string, args: readonly string[]): Promise<unknown> {
  return client.send(command, args).catch(() => null)
}

async function clockAhead(client: RedisClient, runtime: Runtime): Promise<number | null> {
  const sentAtMs = runtime.nowMs()
  const time = await ask(client, 'TIME', [])
  if (!Array.isArray(time)) return null
  const [seconds, micros] = time.map(Number) as [number, number]
  const halfWayMs = runtime.wallMs() - (runtime.nowMs() - sentAtMs) / 2
  return seconds * 1000 + micros / 1000 - halfWayMs
}

function persistence(aof: string | undefined, points: string | null): boolean | null {
  if (aof === '1') return true
  return aof === undefined || points === null ? null : points !== ''
}

function savePoints(answer: unknown): string | null {
  const save = pairsOf(answer).get('save')
  return save === undefined ? null : String(save)
}

function textOf(info: unknown): string {
  return typeof info === 'string' ? info : ''
}
