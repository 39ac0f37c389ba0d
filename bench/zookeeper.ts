import { benchOf } from './consensus/bench.ts'

/** ZooKeeper beside a bare node through the same client, and the plain recipe over the native client. */
export const ZOOKEEPER = benchOf({
  store: 'zookeeper',
  title: 'ZooKeeper',
  peer: 'plain recipe, native client',
  timesPeer: 1,
  packages: ['zookeeper'],
  compiled: 'zookeeper',
})
