import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { nodeRuntime } from '../../src/core/runtime.ts'
import { EtcdClient } from '../../src/stores/etcd/client/client.ts'
import { CURRENT, older } from '../library.ts'
import { OLDER_PREFIX, olderEntry } from '../older.ts'
import { load } from '../redis/load.ts'
import { oursOver } from './ours.ts'
import type { Etcd3Module } from './peer-shapes.ts'
import { BARE, type Catalogue, OURS, POLL_MS, type Subject, TTL_MS } from './subject.ts'

/** Two transactions and nothing else: a key that must not be there, and its end. The lease is there before. */
async function bare(endpoint: string): Promise<Subject> {
  const options = { endpoints: [endpoint], tls: null, user: null, password: null }
  const client = new EtcdClient(options, nodeRuntime)
  const { id: lease } = await client.grant(TTL_MS * 60, BigInt(process.pid))
  return {
    async run(name, work) {
      const key = `bare/${name}`
      const absent = { target: 'create', key, is: '=', value: 0 } as const
      const put = { kind: 'put', key, value: randomUUID(), lease } as const
      const { header } = await client.txn({ compare: [absent], success: [put], failure: [] })
      await work()
      const own = { target: 'create', key, is: '=', value: header.revision } as const
      await client.txn({ compare: [own], success: [{ kind: 'delete', key }], failure: [] })
    },
    trip() {
      const put = { kind: 'put', key: 'bare', value: '' } as const
      return client.txn({ compare: [], success: [put], failure: [] })
    },
    async close() {
      await client.revoke(lease)
      client.close()
    },
  }
}

async function ours(endpoint: string): Promise<Subject> {
  return oursOver(CURRENT, CURRENT.etcd({ endpoints: [endpoint] }))
}

async function olderBuild(endpoint: string): Promise<Subject> {
  const library = await older()
  return oursOver(library, library.etcd({ endpoints: [endpoint] }), OLDER_PREFIX)
}

/** Its lock does not wait, so whoever finds it taken asks again soon. */
async function etcd3(endpoint: string): Promise<Subject> {
  const { Etcd3, EtcdLockFailedError } = (await load<{ default: Etcd3Module }>('etcd3')).default
  const client = new Etcd3({ hosts: [`http://${endpoint}`] })
  return {
    async run(key, work) {
      for (;;) {
        const lock = client.lock(`etcd3/${key}`).ttl(TTL_MS / 1000)
        try {
          await lock.acquire()
        } catch (error) {
          if (!(error instanceof EtcdLockFailedError)) throw error
          await sleep(POLL_MS * (0.5 + Math.random()))
          continue
        }
        await work()
        await lock.release()
        return
      }
    },
    async close() {
      client.close()
    },
  }
}

export const ETCD_CATALOGUE: Catalogue = {
  [BARE]: { role: 'bare', open: bare },
  [OURS]: { role: 'ours', open: ours },
  ...olderEntry({ role: 'older' as const, open: olderBuild }),
  "etcd3's lock": { role: 'peer', open: etcd3 },
}
