import type { WireError } from './errors.ts'
import type { JuteReader } from './jute.ts'
import { type MultiResult, operationOf, readMulti, type Step, writeMulti, writeStep } from './operations.ts'
import { type Acl, type NodeKind, OPERATIONS, readStat, type Stat } from './protocol.ts'
import { Session, type SessionListener, type SessionOptions } from './session.ts'
import type { WatchedPart, Watcher } from './watches.ts'

export interface Created {
  readonly path: string
  readonly stat: Stat
}

/** The requests of ZooKeeper, each a promise. Carried out in the order in which they are made. */
export class ZooKeeperClient {
  readonly session: Session

  constructor(options: SessionOptions, listener: SessionListener) {
    this.session = new Session(options, listener)
  }

  /** The name of a sequential node is known only from the answer. */
  create(path: string, data: Uint8Array, node: NodeKind, acl: readonly Acl[]): Promise<Created> {
    return this.step({ kind: 'create', path, data, node, acl }, (reader) => ({
      path: reader.text(),
      stat: readStat(reader),
    }))
  }

  delete(path: string, version?: number): Promise<void> {
    return this.step({ kind: 'delete', path, ...(version === undefined ? {} : { version }) }, () => {})
  }

  setData(path: string, data: Uint8Array, version?: number): Promise<Stat> {
    return this.step({ kind: 'set', path, data, ...(version === undefined ? {} : { version }) }, readStat)
  }

  /** Null when there is no such node; then a watcher is told of its creation. */
  exists(path: string, watcher?: Watcher): Promise<Stat | null> {
    return this.read<Stat | null>(
      OPERATIONS.exists,
      path,
      watcher,
      (reader) => {
        this.watch('data', path, watcher)
        return readStat(reader)
      },
      ({ reason }) => {
        if (reason !== 'NoNode') return undefined
        this.watch('existence', path, watcher)
        return null
      },
    )
  }

  /** A node that is not there is not watched. */
  getData(path: string, watcher?: Watcher): Promise<{ data: Buffer; stat: Stat }> {
    return this.read(OPERATIONS.getData, path, watcher, (reader) => {
      this.watch('data', path, watcher)
      return { data: reader.bytes(), stat: readStat(reader) }
    })
  }

  /** Told once when the node changes or goes; what it is like now is not read. A node that is not there is not watched. */
  attend(path: string, watcher: Watcher): Promise<void> {
    return this.read(OPERATIONS.getData, path, watcher, () => this.watch('data', path, watcher))
  }

  /** Their names alone: what else is told of the node costs more to read than they do. */
  list(path: string, watcher?: Watcher): Promise<string[]> {
    return this.read(OPERATIONS.getChildren, path, watcher, (reader) => {
      this.watch('children', path, watcher)
      return reader.list(() => reader.text())
    })
  }

  getChildren(path: string, watcher?: Watcher): Promise<{ names: string[]; stat: Stat }> {
    return this.read(OPERATIONS.getChildren2, path, watcher, (reader) => {
      this.watch('children', path, watcher)
      return { names: reader.list(() => reader.text()), stat: readStat(reader) }
    })
  }

  /** Everything in one step, or nothing. */
  multi(steps: readonly Step[]): Promise<MultiResult> {
    return this.session.request({
      operation: OPERATIONS.multi,
      about: steps[0]?.path ?? '',
      write: (writer) => writeMulti(writer, steps),
      read: (reader) => readMulti(reader, steps),
    })
  }

  /** What is read after it is at least as new as what the leader knew when it was asked. */
  sync(path: string): Promise<void> {
    return this.session.request({
      operation: OPERATIONS.sync,
      about: path,
      write: (writer) => writer.text(path),
      read: () => {},
    })
  }

  private step<T>(step: Step, read: (reader: JuteReader) => T): Promise<T> {
    return this.session.request({
      operation: operationOf(step),
      about: step.path,
      write: (writer) => writeStep(writer, step),
      read,
    })
  }

  private read<T>(
    operation: number,
    path: string,
    watcher: Watcher | undefined,
    read: (reader: JuteReader) => T,
    excuse?: (error: WireError) => T | undefined,
  ): Promise<T> {
    return this.session.request({
      operation,
      about: path,
      write: (writer) => {
        writer.text(path)
        writer.bool(watcher !== undefined)
      },
      read,
      ...(excuse === undefined ? {} : { excuse }),
    })
  }

  private watch(part: WatchedPart, path: string, watcher: Watcher | undefined): void {
    if (watcher !== undefined) this.session.watches.add(part, path, watcher)
  }
}
