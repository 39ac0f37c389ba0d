import { answerError, type WireError } from './errors.ts'
import type { JuteReader, JuteWriter } from './jute.ts'
import { type Acl, KINDS, type NodeKind, OPERATIONS, readStat, type Stat, writeAcl } from './protocol.ts'

/** Any version will do. */
export const ANY_VERSION = -1

/** One step of a transaction. */
export type Step =
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

/** What a step of a transaction brought about: a path for a `create`, a stat for a `create` and a `set`. */
export interface Done {
  readonly path: string
  readonly stat: Stat | null
}

/** A transaction happens as a whole or not at all; then `failed` is the first step that could not be done. */
export type MultiResult =
  | { readonly ok: true; readonly done: readonly Done[] }
  | { readonly ok: false; readonly failed: number; readonly error: WireError }

export function operationOf(step: Step): number {
  switch (step.kind) {
    case 'create':
      return step.node === 'container' ? OPERATIONS.createContainer : OPERATIONS.create2
    case 'delete':
      return OPERATIONS.delete
    case 'set':
      return OPERATIONS.setData
    case 'check':
      return OPERATIONS.check
  }
}

export function writeStep(writer: JuteWriter, step: Step): void {
  writer.text(step.path)
  switch (step.kind) {
    case 'create':
      writer.bytes(step.data)
      writeAcl(writer, step.acl)
      writer.int(KINDS[step.node])
      return
    case 'set':
      writer.bytes(step.data)
      writer.int(step.version ?? ANY_VERSION)
      return
    default:
      writer.int(step.version ?? ANY_VERSION)
  }
}

export function writeMulti(writer: JuteWriter, steps: readonly Step[]): void {
  for (const step of steps) {
    writeMultiHeader(writer, operationOf(step), false)
    writeStep(writer, step)
  }
  writeMultiHeader(writer, -1, true)
}

function writeMultiHeader(writer: JuteWriter, operation: number, last: boolean): void {
  writer.int(operation)
  writer.bool(last)
  writer.int(-1)
}

export function readMulti(reader: JuteReader, steps: readonly Step[]): MultiResult {
  const done: Done[] = []
  let failed: { failed: number; error: WireError } | null = null
  for (let index = 0; ; index++) {
    const operation = reader.int()
    const last = reader.bool()
    reader.int()
    if (last) break
    const path = steps[index]?.path ?? ''
    switch (operation) {
      case OPERATIONS.error: {
        const code = reader.int()
        // The steps before the one that failed are told as errors of code 0, those after it as inconsistent.
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
