import type { Runtime } from '../../../core/runtime.ts'
import type { RangeOp, Txn } from './requests.ts'
import { grantRequest, leaseRequest, rangeRequest, txnRequest } from './requests.ts'
import {
  type Header,
  type KeyValue,
  type LeaseAnswer,
  leaseResponse,
  rangeResponse,
  type TxnResult,
  txnResponse,
} from './responses.ts'
import { Cluster, type ClusterOptions } from './cluster.ts'
import { KeepAliveStream } from './keep-alive.ts'
import { Watcher } from './watcher.ts'

/** What we ask of etcd. Every read is linearizable. */
export class EtcdClient {
  readonly watcher: Watcher
  private readonly cluster: Cluster
  private readonly keepAlives: KeepAliveStream

  constructor(options: ClusterOptions, runtime: Runtime) {
    this.cluster = new Cluster(options, runtime)
    this.keepAlives = new KeepAliveStream(this.cluster, runtime)
    this.watcher = new Watcher(this.cluster, runtime)
  }

  async range(range: Omit<RangeOp, 'kind'>): Promise<{ header: Header; kvs: readonly KeyValue[] }> {
    return rangeResponse(await this.cluster.call('/etcdserverpb.KV/Range', rangeRequest(range)))
  }

  async txn(txn: Txn): Promise<TxnResult & { readonly header: Header }> {
    return txnResponse(await this.cluster.call('/etcdserverpb.KV/Txn', txnRequest(txn)))
  }

  /** Whoever asks chooses the id, so that it can be revoked when the answer was lost. */
  async grant(ttlSeconds: number, id: bigint): Promise<LeaseAnswer> {
    const request = grantRequest(ttlSeconds, id)
    return leaseResponse(await this.cluster.call('/etcdserverpb.Lease/LeaseGrant', request))
  }

  /** Ends the lease and deletes the keys that are bound to it. */
  async revoke(lease: bigint): Promise<void> {
    await this.cluster.call('/etcdserverpb.Lease/LeaseRevoke', leaseRequest(lease))
  }

  keepAlive(lease: bigint): Promise<LeaseAnswer> {
    return this.keepAlives.keepAlive(lease)
  }

  /** What is left of a lease, in seconds; below 0 when there is no such lease. */
  async timeToLive(lease: bigint): Promise<number> {
    const request = leaseRequest(lease)
    return leaseResponse(await this.cluster.call('/etcdserverpb.Lease/LeaseTimeToLive', request)).ttlSeconds
  }

  close(): void {
    this.watcher.close()
    this.cluster.close()
  }
}
