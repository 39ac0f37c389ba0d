import { benchOf } from './consensus/bench.ts'

/** etcd beside the bare transactions through the same client, and the lock of the common npm client. */
export const ETCD = benchOf({
  store: 'etcd',
  title: 'etcd',
  peer: "etcd3's lock",
  timesPeer: 1.4,
  packages: ['etcd3'],
})
