import type { Store } from 'holdfast'
import { etcd } from 'holdfast/etcd'
import { afterAll } from 'vitest'
import { startEtcd } from '../../scripts/servers/etcd.ts'
import { startProxy, type TcpProxy } from '../../scripts/servers/proxy.ts'
import { conform } from './conform.ts'
import { Operator } from './etcd/operator.ts'

const cluster = await startEtcd()
const operator = new Operator(cluster.endpoints)
const proxies = new WeakMap<Store, TcpProxy>()
let opened = 0
afterAll(() => cluster.stop())

conform({
  name: 'etcd, three members',
  open: async () => {
    const member = cluster.members[opened++ % cluster.members.length]
    const proxy = await startProxy(member?.port ?? 0)
    const store = etcd({ endpoints: [`127.0.0.1:${proxy.port}`] })
    proxies.set(store, proxy)
    return store
  },
  faults: {
    disconnect: (store) => proxies.get(store)?.reset(),
    disturb: () => operator.compact(),
  },
  // A lease lives for whole seconds, one of them spare, and its end is looked for twice in a second.
  slackMs: 2500,
})
