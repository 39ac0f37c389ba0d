import type { Runtime } from '../../../core/runtime.ts'
import { Cluster, type ClusterOptions } from './cluster.ts'
import { KeepAliveStream } from './keep-alive.ts'
import { grantRequest, leaseRequest, type RangeOp, rangeRequest, type Txn, txnRequest } from './requests.ts'
import {
  type Header,
  type KeyValue,
  type LeaseAnswer,
  leaseResponse,
  rangeResponse,
  type TxnResult,
  txnResponse,
} from './responses.ts'
import { WatchStream } from './watcher.ts'

/** The calls of etcd that locks need. Every read is linearizable. */
export class EtcdClient {
  readonly watcher: WatchStream
  private readonly cluster: Cluster
  private readonly keepAlives: KeepAliveStream

  constructor(options: ClusterOptions, runtime: Runtime) {
    this.cluster = new Cluster(options, runtime)
    this.keepAlives = new KeepAliveStream(this.cluster, runtime)
    this.watcher = new WatchStream(this.cluster, runtime)
  }

  async range(range: Omit<RangeOp, 'kind'>): Promise<{ header: Header; kvs: readonly KeyValue[] }> {
    return rangeResponse(await this.cluster.call('/etcdserverpb.KV/Range', rangeRequest(range)))
  }

  async txn(txn: Txn): Promise<TxnResult & { readonly header: Header }> {
    return txnResponse(await this.cluster.call('/etcdserverpb.KV/Txn', txnRequest(txn)))
  }

  /** The caller chooses the id, so that it can revoke the lease when the answer is lost. */
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

  /** The remaining seconds of a lease; below 0 when there is no such lease. */
  async timeToLive(lease: bigint): Promise<number> {
    const request = leaseRequest(lease)
    return leaseResponse(await this.cluster.call('/etcdserverpb.Lease/LeaseTimeToLive', request)).ttlSeconds
  }

  close(): void {
    this.watcher.close()
    this.cluster.close()
  }
}
