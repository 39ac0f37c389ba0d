import { Writer } from './protobuf.ts'

/** Keys and values are texts here; with an `end`, the key is the beginning of a range that excludes its end. */
export interface RangeOp {
  readonly kind: 'range'
  readonly key: string
  readonly end?: string
  readonly limit?: number
  readonly countOnly?: boolean
}

export interface PutOp {
  readonly kind: 'put'
  readonly key: string
  readonly value: string
  readonly lease?: bigint
  /** Keep the present lease; the key must exist. */
  readonly ignoreLease?: boolean
  /** Answer with the key as it was before. */
  readonly previous?: boolean
}

interface DeleteOp {
  readonly kind: 'delete'
  readonly key: string
  readonly end?: string
  readonly previous?: boolean
}

export type Op = RangeOp | PutOp | DeleteOp | (Txn & { readonly kind: 'txn' })

/** Compares every key of a range; an absent key, or an empty range, has revision 0. */
export interface Compare {
  readonly target: 'create' | 'mod' | 'lease'
  readonly key: string
  readonly end?: string
  readonly is: '=' | '>' | '<'
  readonly value: number | bigint
}

/** Executes `success` if all compares are true, otherwise `failure`. */
export interface Txn {
  readonly compare?: readonly Compare[]
  readonly success: readonly Op[]
  readonly failure?: readonly Op[]
}

export interface WatchRequest {
  readonly id: number
  readonly key: string
  readonly end?: string
  readonly fromRevision: number
  /** Leave these events out. */
  readonly ignore?: 'puts' | 'deletes'
  /** Include the previous key in each event. */
  readonly previous?: boolean
}

const RESULTS = { '=': 0, '>': 1, '<': 2 } as const
const TARGETS = { create: 1, mod: 2, lease: 4 } as const
const TARGET_FIELDS = { create: 5, mod: 6, lease: 8 } as const
const OPS = { range: 1, put: 2, delete: 3, txn: 4 } as const
const IGNORED = { puts: 0, deletes: 1 } as const

/** Requests are written one at a time, so they share a buffer. */
const writer = new Writer()

export function rangeRequest(range: Omit<RangeOp, 'kind'>): Buffer {
  writeRange(range)
  return writer.finish()
}

export function txnRequest(txn: Txn): Buffer {
  writeTxn(txn)
  return writer.finish()
}

export function grantRequest(ttlSeconds: number, id: bigint): Buffer {
  writer.number(1, ttlSeconds)
  writer.number(2, id)
  return writer.finish()
}

/** For revoke, keep-alive and time to live. */
export function leaseRequest(id: bigint): Buffer {
  writer.number(1, id)
  return writer.finish()
}

export function authenticateRequest(user: string, password: string): Buffer {
  writer.text(1, user)
  writer.text(2, password)
  return writer.finish()
}

export function watchRequest({ id, key, end, fromRevision, ignore, previous }: WatchRequest): Buffer {
  writer.message(1, () => {
    writer.text(1, key)
    writer.text(2, end ?? '')
    writer.number(3, fromRevision)
    if (ignore !== undefined) writer.chosen(5, IGNORED[ignore])
    writer.flag(6, previous ?? false)
    writer.number(7, id)
  })
  return writer.finish()
}

export function cancelRequest(id: number): Buffer {
  writer.message(2, () => writer.number(1, id))
  return writer.finish()
}

function writeTxn({ compare = [], success, failure = [] }: Txn): void {
  for (const each of compare) writer.message(1, () => writeCompare(each))
  for (const op of success) writer.message(2, () => writeOp(op))
  for (const op of failure) writer.message(3, () => writeOp(op))
}

function writeCompare({ target, key, end, is, value }: Compare): void {
  writer.number(1, RESULTS[is])
  writer.number(2, TARGETS[target])
  writer.text(3, key)
  writer.chosen(TARGET_FIELDS[target], value)
  writer.text(64, end ?? '')
}

function writeOp(op: Op): void {
  writer.message(OPS[op.kind], () => {
    if (op.kind === 'range') writeRange(op)
    else if (op.kind === 'put') writePut(op)
    else if (op.kind === 'delete') writeDelete(op)
    else writeTxn(op)
  })
}

function writeRange({ key, end, limit, countOnly }: Omit<RangeOp, 'kind'>): void {
  writer.text(1, key)
  writer.text(2, end ?? '')
  writer.number(3, limit ?? 0)
  writer.flag(9, countOnly ?? false)
}

function writePut({ key, value, lease, previous, ignoreLease }: PutOp): void {
  writer.text(1, key)
  writer.text(2, value)
  writer.number(3, lease ?? 0n)
  writer.flag(4, previous ?? false)
  writer.flag(6, ignoreLease ?? false)
}

function writeDelete({ key, end, previous }: DeleteOp): void {
  writer.text(1, key)
  writer.text(2, end ?? '')
  writer.flag(3, previous ?? false)
}
