import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect } from 'holdfast'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Ensemble, startZooKeeper } from '../../../scripts/servers/zookeeper.ts'

const PROGRAM = fileURLToPath(new URL('./many-leases.ts', import.meta.url))
const LEASES = 30_000
const TTL_MS = 20_000

let ensemble: Ensemble

beforeAll(async () => {
  ensemble = await startZooKeeper()
})

afterAll(() => ensemble.stop())

const ephemerals = () => Promise.all(ensemble.members.map((member) => member.figure('zk_ephemerals_count')))

/** Somebody else takes some of its keys, and gives them back. */
async function takeSome(): Promise<void> {
  const locks = await connect(`zookeeper://${ensemble.hosts}`, { ttl: 5000 })
  try {
    for (let index = 0; index < LEASES; index += 1500)
      await locks.using(`lease-${index}-`.padEnd(100, 'x'), { wait: 0 }, () => {})
  } finally {
    await locks.close()
  }
}

it('a killed process with 30,000 leases leaves a working ensemble and free keys', {
  timeout: 180_000,
}, async () => {
  const args = ['--import', 'tsx', PROGRAM, `zookeeper://${ensemble.hosts}`, String(LEASES), String(TTL_MS)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = await once(createInterface({ input: child.stdout }), 'line')
  expect(said).toBe(`held ${LEASES}`)
  child.kill('SIGKILL')
  await expect.poll(ephemerals, { timeout: TTL_MS * 1.5, interval: 500 }).toEqual([0, 0, 0])
  await takeSome()
  await Promise.all(ensemble.members.map((member) => member.kill()))
  await ensemble.start()
  await takeSome()
})
