import { setTimeout as sleep } from 'node:timers/promises'
import { startEtcd } from '../../../scripts/servers/etcd.ts'
import { surviveFaults } from '../consensus/faults.ts'
import type { World } from '../consensus/world.ts'
import { Operator } from './operator.ts'

surviveFaults(async (): Promise<World> => {
  const cluster = await startEtcd({ parted: true })
  const operator = new Operator(cluster.endpoints)
  const { members } = cluster
  return {
    url: cluster.url,
    urlBy: (port) => `etcd://127.0.0.1:${port}`,
    answersBeforeLine: 0,
    connections: 1,
    ports: members.map(({ port }) => port),
    async killLeader() {
      const leader = await cluster.leader()
      await leader.kill()
      return () => leader.restart()
    },
    async pauseLeader() {
      const leader = await cluster.leader()
      leader.pause()
      return () => leader.resume()
    },
    async partFollower() {
      const leader = await cluster.leader()
      await cluster.part(members.find((member) => member !== leader) ?? leader)
      return () => cluster.heal()
    },
    async restartAll() {
      await Promise.all(members.map((member) => member.kill()))
      await sleep(500)
      await cluster.start()
    },
    leftovers: async () => (await operator.countKeys()) + (await operator.countLeases()),
    async watchEvents() {
      const counts = members.map((member) => member.metric('etcd_debugging_mvcc_events_total'))
      return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
    },
    stop: () => cluster.stop(),
  }
})
