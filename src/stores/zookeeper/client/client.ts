import type { JuteReader } from './jute.ts'
import { type MultiOp, type MultiResult, operationOf, readMulti, writeMulti, writeOp } from './operations.ts'
import { type Acl, type NodeKind, OPERATIONS, readStat, type Stat } from './protocol.ts'
import { type SessionListener, type SessionOptions, ZooKeeperSession } from './session.ts'
import type { WatchCallback, WatchedPart } from './watches.ts'

export interface Created {
  readonly path: string
  readonly stat: Stat
}

/** The requests of ZooKeeper as promises. A server executes them in the order of the calls. */
export class ZooKeeperClient {
  readonly session: ZooKeeperSession

  constructor(options: SessionOptions, listener: SessionListener) {
    this.session = new ZooKeeperSession(options, listener)
  }

  /** Only the answer contains the name of a sequential node. */
  create(path: string, data: Uint8Array, node: NodeKind, acl: readonly Acl[]): Promise<Created> {
    return this.single({ kind: 'create', path, data, node, acl }, (reader) => ({
      path: reader.text(),
      stat: readStat(reader),
    }))
  }

  delete(path: string, version?: number): Promise<void> {
    return this.single({ kind: 'delete', path, ...(version === undefined ? {} : { version }) }, () => {})
  }

  setData(path: string, data: Uint8Array, version?: number): Promise<Stat> {
    return this.single({ kind: 'set', path, data, ...(version === undefined ? {} : { version }) }, readStat)
  }

  /** Null when there is no such node. */
  exists(path: string): Promise<Stat | null> {
    return this.session.request<Stat | null>({
      operation: OPERATIONS.exists,
      about: path,
      write: (writer) => {
        writer.text(path)
        writer.bool(false)
      },
      read: readStat,
      excuse: ({ reason }) => (reason === 'NoNode' ? null : undefined),
    })
  }

  /** Does not watch an absent node. */
  getData(path: string, watcher?: WatchCallback): Promise<{ data: Buffer; stat: Stat }> {
    return this.read(OPERATIONS.getData, path, 'data', watcher, (reader) => ({
      data: reader.bytes(),
      stat: readStat(reader),
    }))
  }

  /** Watches for one change or the deletion of a node, without parsing its data. Does not watch an absent node. */
  attend(path: string, watcher: WatchCallback): Promise<void> {
    return this.read(OPERATIONS.getData, path, 'data', watcher, () => {})
  }

  /** The names of the children. */
  list(path: string, watcher?: WatchCallback): Promise<string[]> {
    return this.read(OPERATIONS.getChildren, path, 'children', watcher, (reader) =>
      reader.list(() => reader.text()),
    )
  }

  /** Executes all operations or none. */
  multi(ops: readonly MultiOp[]): Promise<MultiResult> {
    return this.session.request({
      operation: OPERATIONS.multi,
      about: ops[0]?.path ?? '',
      write: (writer) => writeMulti(writer, ops),
      read: (reader) => readMulti(reader, ops),
    })
  }

  /** Later reads are at least as new as the leader's data at this request. */
  sync(path: string): Promise<void> {
    return this.session.request({
      operation: OPERATIONS.sync,
      about: path,
      write: (writer) => writer.text(path),
      read: () => {},
    })
  }

  private single<T>(op: MultiOp, read: (reader: JuteReader) => T): Promise<T> {
    return this.session.request({
      operation: operationOf(op),
      about: op.path,
      write: (writer) => writeOp(writer, op),
      read,
    })
  }

  private read<T>(
    operation: number,
    path: string,
    part: WatchedPart,
    watcher: WatchCallback | undefined,
    read: (reader: JuteReader) => T,
  ): Promise<T> {
    return this.session.request({
      operation,
      about: path,
      write: (writer) => {
        writer.text(path)
        writer.bool(watcher !== undefined)
      },
      read: (reader) => {
        if (watcher !== undefined) this.session.watches.add(part, path, watcher)
        return read(reader)
      },
    })
  }
}

/** Like `Promise.all`, but waits for both, so that no rejection is left unhandled. */
export async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  const [one, other] = await Promise.allSettled([first, second])
  if (one.status === 'rejected') throw one.reason
  if (other.status === 'rejected') throw other.reason
  return [one.value, other.value]
}
