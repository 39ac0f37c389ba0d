import { ETCD_CATALOGUE } from './etcd.ts'
import type { StoreName } from './orders.ts'
import type { Catalogue } from './subject.ts'
import { ZOOKEEPER_CATALOGUE } from './zookeeper.ts'

export const CATALOGUES: Readonly<Record<StoreName, Catalogue>> = {
  etcd: ETCD_CATALOGUE,
  zookeeper: ZOOKEEPER_CATALOGUE,
}
