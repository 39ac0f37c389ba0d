import { expect, it, onTestFinished } from 'vitest'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { nodeRuntime } from '../../../src/core/runtime.ts'
import type { EtcdClient } from '../../../src/stores/etcd/client/client.ts'
import type { Txn } from '../../../src/stores/etcd/client/requests.ts'
import type { KeyEvent } from '../../../src/stores/etcd/client/responses.ts'
import type { WatchListener } from '../../../src/stores/etcd/client/watcher.ts'
import { type NotificationValue, notificationText } from '../../../src/stores/etcd/format.ts'
import { EtcdInbox } from '../../../src/stores/etcd/notifications.ts'
import { createStore } from '../../../src/stores/etcd/open.ts'
import { claimOf } from '../sqlite/claims.ts'
import { Operator } from './operator.ts'

/** A client of which the inbox needs three calls. */
class StubClient {
  readonly txns: Txn[] = []
  readonly listeners: WatchListener[] = []
  failures = 0
  readonly watcher = {
    watch: (_: unknown, listener: WatchListener) => {
      this.listeners.push(listener)
      return () => {}
    },
  }

  async txn(txn: Txn): Promise<void> {
    this.txns.push(txn)
  }

  async range(): Promise<unknown> {
    if (this.failures-- > 0) throw new Error('etcdserver: leader changed')
    return { kvs: [], header: { revision: 7, term: 1 } }
  }
}

function inboxOf(client: StubClient): { inbox: EtcdInbox; heard: NotificationValue[] } {
  const heard: NotificationValue[] = []
  const inbox = new EtcdInbox(client as unknown as EtcdClient, nodeRuntime, (notification) =>
    heard.push(notification),
  )
  onTestFinished(() => inbox.close())
  inbox.begin(1)
  return { inbox, heard }
}

function event(index: number, value = notificationText('revoked', 'key', String(index))): KeyEvent {
  return {
    kind: 'put',
    kv: { key: `notification ${index}`, value, created: 1, changed: 1, lease: 1n },
    previous: null,
  }
}

it('deletes many notifications in transactions within the limit of etcd', async () => {
  const client = new StubClient()
  const { heard } = inboxOf(client)
  const events = Array.from({ length: 300 }, (_, index) => event(index))
  client.listeners[0]?.changed(events)
  expect(heard).toHaveLength(300)
  await expect.poll(() => client.txns.flatMap(({ success }) => success).length).toBe(300)
  for (const { success } of client.txns) expect(success.length).toBeLessThanOrEqual(128)
})

it('resumes after a compaction although the first read fails', async () => {
  const client = new StubClient()
  inboxOf(client)
  client.failures = 2
  client.listeners[0]?.missed()
  await expect.poll(() => client.listeners.length, { timeout: 5000 }).toBe(2)
})

it('reads past a notification of a later version', () => {
  const client = new StubClient()
  const { heard } = inboxOf(client)
  const later = ['{"format":1}', JSON.stringify({ format: 2, kind: 'new', key: 'key', id: '1' })]
  client.listeners[0]?.changed([...later.map((text, index) => event(index, text)), event(9)])
  expect(heard.map(({ id }) => id)).toEqual(['9'])
})

it('two concurrent claims with a lock delay share the follower lease', async () => {
  const cluster = await startEtcd({ members: 1 })
  const store = createStore({ endpoints: cluster.endpoints })
  onTestFinished(async () => {
    await store.close()
    await cluster.stop()
  })
  const claims = ['one', 'two'].map((key) => claimOf(key, { lockDelayMs: 1000 }))
  const answers = await Promise.all(claims.map((claim) => store.attempt([claim])))
  expect(answers.flat().map(({ kind }) => kind)).toEqual(['granted', 'granted'])
  expect(await new Operator(cluster.endpoints).countLeases()).toBe(2)
})
