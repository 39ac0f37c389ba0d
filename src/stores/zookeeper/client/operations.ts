import { answerError, type WireError } from './errors.ts'
import type { JuteReader, JuteWriter } from './jute.ts'
import { type Acl, NODE_KINDS, type NodeKind, OPERATIONS, readStat, type Stat, writeAcl } from './protocol.ts'

const ANY_VERSION = -1

/** One operation of a transaction. */
export type MultiOp =
  | {
      readonly kind: 'create'
      readonly path: string
      readonly data: Uint8Array
      readonly node: NodeKind
      readonly acl: readonly Acl[]
    }
  | { readonly kind: 'delete'; readonly path: string; readonly version?: number }
  | { readonly kind: 'set'; readonly path: string; readonly data: Uint8Array; readonly version?: number }
  | { readonly kind: 'check'; readonly path: string; readonly version?: number }

/** The result of one operation: a path for a `create`, a stat for a `create` and a `set`. */
export interface MultiOpResult {
  readonly path: string
  readonly stat: Stat | null
}

/** All operations were executed or none; `failed` is the index of the first that could not be. */
export type MultiResult =
  | { readonly ok: true; readonly done: readonly MultiOpResult[] }
  | { readonly ok: false; readonly failed: number; readonly error: WireError }

export function operationOf(op: MultiOp): number {
  switch (op.kind) {
    case 'create':
      return op.node === 'container' ? OPERATIONS.createContainer : OPERATIONS.create2
    case 'delete':
      return OPERATIONS.delete
    case 'set':
      return OPERATIONS.setData
    case 'check':
      return OPERATIONS.check
  }
}

export function writeOp(writer: JuteWriter, op: MultiOp): void {
  writer.text(op.path)
  switch (op.kind) {
    case 'create':
      writer.bytes(op.data)
      writeAcl(writer, op.acl)
      writer.int(NODE_KINDS[op.node])
      return
    case 'set':
      writer.bytes(op.data)
      writer.int(op.version ?? ANY_VERSION)
      return
    default:
      writer.int(op.version ?? ANY_VERSION)
  }
}

export function writeMulti(writer: JuteWriter, ops: readonly MultiOp[]): void {
  for (const op of ops) {
    writeMultiHeader(writer, operationOf(op), false)
    writeOp(writer, op)
  }
  writeMultiHeader(writer, -1, true)
}

function writeMultiHeader(writer: JuteWriter, operation: number, last: boolean): void {
  writer.int(operation)
  writer.bool(last)
  writer.int(-1)
}

export function readMulti(reader: JuteReader, ops: readonly MultiOp[]): MultiResult {
  const done: MultiOpResult[] = []
  let failed: { failed: number; error: WireError } | null = null
  for (let index = 0; ; index++) {
    const operation = reader.int()
    const last = reader.bool()
    reader.int()
    if (last) break
    const path = ops[index]?.path ?? ''
    switch (operation) {
      case OPERATIONS.error: {
        const code = reader.int()
        // Operations before the failed one have code 0, later ones report an inconsistency.
        if (code !== 0 && failed === null) failed = { failed: index, error: answerError(code, path) }
        break
      }
      case OPERATIONS.create:
        done.push({ path: reader.text(), stat: null })
        break
      case OPERATIONS.create2:
      case OPERATIONS.createContainer:
        done.push({ path: reader.text(), stat: readStat(reader) })
        break
      case OPERATIONS.setData:
        done.push({ path, stat: readStat(reader) })
        break
      default:
        done.push({ path, stat: null })
    }
  }
  return failed === null ? { ok: true, done } : { ok: false, ...failed }
}
