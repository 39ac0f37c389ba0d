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

/** The result of one operation of a transaction; only the fields of its kind are set. */
export interface OpResult {
  readonly kvs: readonly KeyValue[]
  /** The number of keys in the range, or of deleted keys. */
  readonly count: number
  /** The key before a put or a deletion, if the request asked for it. */
  readonly previous: readonly KeyValue[]
  readonly txn: TxnResult | null
}

export interface TxnResult {
  readonly succeeded: boolean
  readonly results: readonly OpResult[]
}

/** The revision of the data, and the term of the leader as the member knows it. */
export interface Header {
  readonly revision: number
  readonly term: number
}

export interface LeaseAnswer {
  readonly header: Header
  readonly id: bigint
  /** The granted time to live; below 1 when the lease is gone. */
  readonly ttlSeconds: number
}

export interface WatchAnswer {
  readonly id: number
  readonly canceled: boolean
  /** The first revision that etcd still keeps, if the requested one is compacted; else 0. */
  readonly compacted: number
  readonly events: readonly KeyEvent[]
}

export interface KeyEvent {
  readonly kind: 'put' | 'delete'
  readonly kv: KeyValue
  /** The key before the event, if the watch asked for it. */
  readonly previous: KeyValue | null
}

type Readable<T> = { -readonly [name in keyof T]: T[name] }

const NO_HEADER: Header = { revision: 0, term: 0 }
const NO_RESULT: OpResult = { kvs: [], count: 0, previous: [], txn: null }

export function rangeResponse(body: Buffer): { header: Header; kvs: readonly KeyValue[] } {
  return readResult(new Reader(body), 'range')
}

export function txnResponse(body: Buffer): TxnResult & { readonly header: Header } {
  return readTxn(new Reader(body))
}

export function leaseResponse(body: Buffer): LeaseAnswer {
  const answer: Readable<LeaseAnswer> = { header: NO_HEADER, id: 0n, ttlSeconds: 0 }
  const reader = new Reader(body)
  reader.fields((field) => {
    if (field === 1) answer.header = readHeader(reader.message())
    else if (field === 2) answer.id = reader.long()
    // -1 when there is no such lease.
    else if (field === 3) answer.ttlSeconds = Number(reader.long())
  })
  return answer
}

export function authenticateResponse(body: Buffer): string {
  let token = ''
  const reader = new Reader(body)
  reader.fields((field) => {
    if (field === 2) token = reader.text()
  })
  return token
}

export function watchResponse(body: Buffer): WatchAnswer {
  const events: KeyEvent[] = []
  const answer: Readable<WatchAnswer> = { id: 0, canceled: false, compacted: 0, events }
  const reader = new Reader(body)
  reader.fields((field) => {
    if (field === 2) answer.id = reader.number()
    else if (field === 4) answer.canceled = reader.number() === 1
    else if (field === 5) answer.compacted = reader.number()
    else if (field === 11) events.push(readEvent(reader.message()))
  })
  return answer
}

function readHeader(reader: Reader): Header {
  const header: Readable<Header> = { revision: 0, term: 0 }
  reader.fields((field) => {
    if (field === 3) header.revision = reader.number()
    else if (field === 4) header.term = reader.number()
  })
  return header
}

function readTxn(reader: Reader): TxnResult & { readonly header: Header } {
  const results: OpResult[] = []
  const txn = { header: NO_HEADER, succeeded: false, results }
  reader.fields((field) => {
    if (field === 1) txn.header = readHeader(reader.message())
    else if (field === 2) txn.succeeded = reader.number() === 1
    else if (field === 3) results.push(readOp(reader.message()))
  })
  return txn
}

function readOp(reader: Reader): OpResult {
  let result = NO_RESULT
  reader.fields((field) => {
    if (field === 4) result = { ...NO_RESULT, txn: readTxn(reader.message()) }
    else if (field === 1) result = readResult(reader.message(), 'range')
    else if (field === 2) result = readResult(reader.message(), 'put')
    else if (field === 3) result = readResult(reader.message(), 'delete')
  })
  return result
}

/** The answers to the three kinds of operations differ only in the numbers of their fields. */
function readResult(
  reader: Reader,
  kind: 'range' | 'put' | 'delete',
): OpResult & { readonly header: Header } {
  const kvs: KeyValue[] = []
  const previous: KeyValue[] = []
  const result = { header: NO_HEADER, kvs, count: 0, previous, txn: null }
  reader.fields((field) => {
    if (field === 1) result.header = readHeader(reader.message())
    else if (kind === 'range' && field === 2) kvs.push(readKeyValue(reader.message()))
    else if (kind === 'range' && field === 4) result.count = reader.number()
    else if (kind === 'put' && field === 2) previous.push(readKeyValue(reader.message()))
    else if (kind === 'delete' && field === 2) result.count = reader.number()
    else if (kind === 'delete' && field === 3) previous.push(readKeyValue(reader.message()))
  })
  return result
}

const NO_KEY: KeyValue = { key: '', value: '', created: 0, changed: 0, lease: 0n }

function readEvent(reader: Reader): KeyEvent {
  const event: Readable<KeyEvent> = { kind: 'put', kv: NO_KEY, previous: null }
  reader.fields((field) => {
    if (field === 1) event.kind = reader.number() === 1 ? 'delete' : 'put'
    else if (field === 2) event.kv = readKeyValue(reader.message())
    else if (field === 3) event.previous = readKeyValue(reader.message())
  })
  return event
}

function readKeyValue(reader: Reader): KeyValue {
  const kv: Readable<KeyValue> = { ...NO_KEY }
  reader.fields((field) => {
    if (field === 1) kv.key = reader.text()
    else if (field === 2) kv.created = reader.number()
    else if (field === 3) kv.changed = reader.number()
    else if (field === 5) kv.value = reader.text()
    else if (field === 6) kv.lease = reader.long()
  })
  return kv
}
