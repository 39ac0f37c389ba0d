import type { JuteReader, JuteWriter } from './jute.ts'

export const OPERATIONS = {
  notification: 0,
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  ping: 11,
  getChildren: 8,
  check: 13,
  multi: 14,
  create2: 15,
  createContainer: 19,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  closeSession: -11,
  error: -1,
} as const

/** The numbers of packets that answer no request. */
export const XIDS = { notification: -1, ping: -2, auth: -4, setWatches: -8 } as const

/** The kinds of nodes. ZooKeeper deletes a container some time after its last child. */
export const NODE_KINDS = {
  persistent: 0,
  ephemeral: 1,
  'persistent sequential': 2,
  'ephemeral sequential': 3,
  container: 4,
} as const

export type NodeKind = keyof typeof NODE_KINDS

export interface Acl {
  readonly permissions: number
  readonly scheme: string
  readonly id: string
}

/** The metadata of a node. Times are the leader's wall clock in milliseconds. */
export interface Stat {
  readonly czxid: bigint
  readonly mzxid: bigint
  readonly ctimeMs: number
  readonly mtimeMs: number
  readonly version: number
  readonly cversion: number
  readonly aversion: number
  readonly ephemeralOwner: bigint
  readonly dataLength: number
  readonly numChildren: number
  readonly pzxid: bigint
}

export type WatchKind = 'deleted' | 'changed' | 'children'

const WATCH_KINDS: Readonly<Record<number, WatchKind>> = {
  2: 'deleted',
  3: 'changed',
  4: 'children',
}

export interface WatchEvent {
  readonly kind: WatchKind
  readonly path: string
}

export interface Handshake {
  readonly timeoutMs: number
  readonly sessionId: bigint
  readonly password: Buffer
}

const PASSWORD_BYTES = 16
export const NO_SESSION: Handshake = {
  timeoutMs: 0,
  sessionId: 0n,
  password: Buffer.alloc(PASSWORD_BYTES),
}

export function writeHandshake(
  writer: JuteWriter,
  { sessionId, password }: Handshake,
  timeoutMs: number,
  seenZxid: bigint,
): void {
  const packet = writer.begin()
  writer.int(0)
  writer.long(seenZxid)
  writer.int(timeoutMs)
  writer.long(sessionId)
  writer.bytes(password)
  // No read-only session: a server without its ensemble must not serve us.
  writer.bool(false)
  writer.end(packet)
}

export function readHandshake(reader: JuteReader): Handshake {
  reader.int()
  return { timeoutMs: reader.int(), sessionId: reader.long(), password: reader.bytes() }
}

export function writeAcl(writer: JuteWriter, acl: readonly Acl[]): void {
  writer.list(acl, ({ permissions, scheme, id }) => {
    writer.int(permissions)
    writer.text(scheme)
    writer.text(id)
  })
}

export function readStat(reader: JuteReader): Stat {
  return {
    czxid: reader.long(),
    mzxid: reader.long(),
    ctimeMs: Number(reader.long()),
    mtimeMs: Number(reader.long()),
    version: reader.int(),
    cversion: reader.int(),
    aversion: reader.int(),
    ephemeralOwner: reader.long(),
    dataLength: reader.int(),
    numChildren: reader.int(),
    pzxid: reader.long(),
  }
}

/** Null for an event that is not about a node. */
export function readWatchEvent(reader: JuteReader): WatchEvent | null {
  const kind = WATCH_KINDS[reader.int()]
  // The state of the connection.
  reader.int()
  const path = reader.text()
  return kind === undefined ? null : { kind, path }
}
