import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'holdfast'
import { startZooKeeper } from '../../../scripts/servers/zookeeper.ts'
import { surviveFaults } from '../consensus/faults.ts'
import type { World } from '../consensus/world.ts'

surviveFaults(async (): Promise<World> => {
  const ensemble = await startZooKeeper({ parted: true })
  const { members } = ensemble
  const url = `zookeeper://${ensemble.hosts}`
  // The root nodes are made once and stay.
  const first = await connect(url)
  await first.close()
  const nodes = async () => (await ensemble.leader()).figure('zk_znode_count')
  const empty = await nodes()
  return {
    url,
    urlBy: (port) => `zookeeper://127.0.0.1:${port}`,
    // That the key is in use.
    answersBeforeLine: 1,
    connections: 1,
    ports: ensemble.ports,
    async killLeader() {
      const leader = await ensemble.leader()
      await leader.kill()
      return async () => {
        leader.start()
        await ensemble.ready()
      }
    },
    async pauseLeader() {
      const leader = await ensemble.leader()
      leader.pause()
      return () => leader.resume()
    },
    async partFollower() {
      ensemble.part(await ensemble.follower())
      return () => ensemble.heal()
    },
    async restartAll() {
      await Promise.all(members.map((member) => member.kill()))
      await sleep(500)
      await ensemble.start()
    },
    async leftovers() {
      const leader = await ensemble.leader()
      return (await nodes()) - empty + (await leader.figure('zk_ephemerals_count'))
    },
    async watchEvents() {
      const kinds = ['created', 'deleted', 'changed', 'children']
      const asked = members.flatMap((member) =>
        kinds.map((kind) => member.figure(`zk_sum_node_${kind}_watch_count`)),
      )
      return (await Promise.all(asked)).reduce((sum, count) => sum + count, 0)
    },
    stop: () => ensemble.stop(),
  }
})
