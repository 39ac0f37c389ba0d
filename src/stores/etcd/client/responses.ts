import { Reader } from './protobuf.ts'

export interface KeyValue {
  readonly key: string
  readonly value: string
  /** The revision that created the key. */
  readonly created: number
  /** The revision that changed it last. */
  readonly changed: number
  readonly lease: bigint
}

/** What an operation of a transaction gave; the fields that its kind has are set. */
export interface OpResult {
  readonly kvs: readonly KeyValue[]
  /** How many keys a range has, or were deleted. */
  readonly count: number
  /** What was there before a put or a deletion, if that was asked for. */
  readonly previous: readonly KeyValue[]
  readonly txn: TxnResult | null
}

export interface TxnResult {
  readonly succeeded: boolean
  readonly results: readonly OpResult[]
}

/** When the answer was given: the revision of the data, and the term of the leader that the member knew. */
export interface Header {
  readonly revision: number
  readonly term: number
}

export interface LeaseAnswer {
  readonly header: Header
  readonly id: bigint
  /** What the server grants, in seconds; below 1 when the lease is gone. */
  readonly ttlSeconds: number
}

export interface WatchAnswer {
  readonly header: Header
  readonly id: number
  readonly canceled: boolean
  /** When what was asked for is no longer kept: the first revision that is. */
  readonly compacted: number
  readonly events: readonly WatchEvent[]
}

export interface WatchEvent {
  readonly kind: 'put' | 'delete'
  readonly kv: KeyValue
  /** What was there before, if that was asked for. */
  readonly previous: KeyValue | null
}

const NO_HEADER: Header = { revision: 0, term: 0 }
const NOTHING: readonly never[] = []

export function rangeResponse(body: Buffer): { header: Header; kvs: readonly KeyValue[]; count: number } {
  const reader = new Reader(body)
  const { header, kvs, count } = readResult(reader, 'range')
  return { header, kvs, count }
}

export function txnResponse(body: Buffer): TxnResult & { readonly header: Header } {
  return readTxn(new Reader(body))
}

export function leaseResponse(body: Buffer): LeaseAnswer {
  const reader = new Reader(body)
  let header = NO_HEADER
  let id = 0n
  let ttlSeconds = 0
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) header = readHeader(reader.message())
    else if (field === 2) id = reader.long()
    // Minus one says that there is no such lease.
    else if (field === 3) ttlSeconds = Number(reader.long())
    else reader.skip()
  }
  return { header, id, ttlSeconds }
}

export function authenticateResponse(body: Buffer): string {
  const reader = new Reader(body)
  let token = ''
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 2) token = reader.text()
    else reader.skip()
  }
  return token
}

export function watchResponse(body: Buffer): WatchAnswer {
  const reader = new Reader(body)
  let header = NO_HEADER
  let id = 0
  let canceled = false
  let compacted = 0
  const events: WatchEvent[] = []
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) header = readHeader(reader.message())
    else if (field === 2) id = reader.number()
    else if (field === 4) canceled = reader.number() === 1
    else if (field === 5) compacted = reader.number()
    else if (field === 11) events.push(readEvent(reader.message()))
    else reader.skip()
  }
  return { header, id, canceled, compacted, events }
}

function readHeader(reader: Reader): Header {
  let revision = 0
  let term = 0
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 3) revision = reader.number()
    else if (field === 4) term = reader.number()
    else reader.skip()
  }
  return { revision, term }
}

function readTxn(reader: Reader): TxnResult & { readonly header: Header } {
  let header = NO_HEADER
  let succeeded = false
  const results: OpResult[] = []
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) header = readHeader(reader.message())
    else if (field === 2) succeeded = reader.number() === 1
    else if (field === 3) results.push(readOp(reader.message()))
    else reader.skip()
  }
  return { header, succeeded, results }
}

const KINDS = ['', 'range', 'put', 'delete'] as const

function readOp(reader: Reader): OpResult {
  const field = reader.next()
  const content = reader.message()
  if (field === 4) return { kvs: NOTHING, count: 0, previous: NOTHING, txn: readTxn(content) }
  return readResult(content, KINDS[field] as 'range' | 'put' | 'delete')
}

/** The answers to the three kinds of operations differ only in which field holds what. */
function readResult(
  reader: Reader,
  kind: 'range' | 'put' | 'delete',
): OpResult & { readonly header: Header } {
  let header = NO_HEADER
  let count = 0
  const kvs: KeyValue[] = []
  const previous: KeyValue[] = []
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) header = readHeader(reader.message())
    else if (kind === 'range' && field === 2) kvs.push(readKeyValue(reader.message()))
    else if (kind === 'range' && field === 4) count = reader.number()
    else if (kind === 'put' && field === 2) previous.push(readKeyValue(reader.message()))
    else if (kind === 'delete' && field === 2) count = reader.number()
    else if (kind === 'delete' && field === 3) previous.push(readKeyValue(reader.message()))
    else reader.skip()
  }
  return { header, kvs, count, previous, txn: null }
}

function readEvent(reader: Reader): WatchEvent {
  let kind: WatchEvent['kind'] = 'put'
  let kv: KeyValue = { key: '', value: '', created: 0, changed: 0, lease: 0n }
  let previous: KeyValue | null = null
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) kind = reader.number() === 1 ? 'delete' : 'put'
    else if (field === 2) kv = readKeyValue(reader.message())
    else if (field === 3) previous = readKeyValue(reader.message())
    else reader.skip()
  }
  return { kind, kv, previous }
}

function readKeyValue(reader: Reader): KeyValue {
  let key = ''
  let value = ''
  let created = 0
  let changed = 0
  let lease = 0n
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) key = reader.text()
    else if (field === 2) created = reader.number()
    else if (field === 3) changed = reader.number()
    else if (field === 5) value = reader.text()
    else if (field === 6) lease = reader.long()
    else reader.skip()
  }
  return { key, value, created, changed, lease }
}
