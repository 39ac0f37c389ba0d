import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { ensemble, make, newPath, open, openByProxy, proxies, proxyInUse, TIMEOUT_MS } from './support.ts'

describe('the session', () => {
  it('goes on with another server when one is lost', async () => {
    const { client, told } = await openByProxy()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    proxyInUse().cut()
    await expect.poll(() => told).toEqual(['connected', 'disconnected', 'connected'])
    expect(await client.exists(path)).not.toBe(null)
  })

  it('fails unanswered requests and resends nothing', async () => {
    const { client } = await openByProxy()
    const path = newPath()
    const replyLost = proxyInUse().loseReplyTo(path)
    const made = make(client, path, '', 'ephemeral').catch((error: unknown) => error)
    await replyLost
    expect(await made).toMatchObject({ reason: 'ConnectionLoss' })
    await expect(make(client, newPath())).rejects.toMatchObject({ reason: 'ConnectionLoss' })
    await client.session.ready(5000)
    await client.sync('/')
    expect(await client.exists(path), 'it was carried out, and belongs to the session').not.toBe(null)
  })

  it('leaves a server that is silent for two thirds of the timeout', async () => {
    const { client, told } = await openByProxy()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    const startedAtMs = performance.now()
    proxyInUse().hold()
    await expect.poll(() => told, { timeout: TIMEOUT_MS, interval: 10 }).toContain('disconnected')
    const silentMs = performance.now() - startedAtMs
    expect(silentMs).toBeGreaterThan(TIMEOUT_MS * 0.5)
    await expect.poll(() => told, { timeout: TIMEOUT_MS }).toEqual(['connected', 'disconnected', 'connected'])
    expect(await client.exists(path), 'the session goes on').not.toBe(null)
  })

  it('reconnects after a stall of half the timeout, which reports the session to the leader', async () => {
    const { client, told } = await openByProxy()
    const { id } = client.session
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TIMEOUT_MS * 0.55)
    expect(client.session.isConnected).toBe(false)
    await client.session.ready(5000)
    expect(told).toEqual(['connected', 'disconnected', 'connected'])
    expect(client.session.id).toBe(id)
    expect(await client.exists(path)).not.toBe(null)
  })

  it('is told apart from a disconnect when it expires', async () => {
    const { client, told } = await openByProxy({ timeoutMs: 1000 })
    const { client: other } = await open()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await expect.poll(() => other.exists(path)).not.toBe(null)
    for (const proxy of proxies) proxy.cut()
    await expect.poll(() => told).toEqual(['connected', 'disconnected'])
    await expect.poll(() => other.exists(path), { timeout: 5000 }).toBe(null)
    expect(told, 'only the ensemble can end a session').toEqual(['connected', 'disconnected'])
    for (const proxy of proxies) proxy.heal()
    await expect.poll(() => told, { timeout: 5000 }).toEqual(['connected', 'disconnected', 'expired'])
    await expect(client.exists(path)).rejects.toMatchObject({ reason: 'SessionExpired' })
    await expect(client.session.ready(1000)).rejects.toMatchObject({ reason: 'SessionExpired' })
  })

  it('deletes its ephemeral nodes when it is closed', async () => {
    const { client } = await open()
    const { client: other } = await open()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await client.session.close()
    await client.session.close()
    await other.sync('/')
    expect(await other.exists(path)).toBe(null)
    await expect(client.exists(path)).rejects.toMatchObject({ reason: 'SessionExpired' })
  })

  it('keeps its ephemeral nodes until its timeout when it is closed quietly', async () => {
    const { client } = await open({ timeoutMs: 1000 })
    const { client: other } = await open()
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await client.session.close(true)
    await other.sync('/')
    expect(await other.exists(path)).not.toBe(null)
    await expect.poll(() => other.exists(path), { timeout: 5000 }).toBe(null)
  })

  it('reports an empty key', async () => {
    const { client } = await openByProxy()
    for (const proxy of proxies) proxy.cut()
    await expect.poll(() => client.session.isConnected).toBe(false)
    await expect(client.session.ready(50)).rejects.toMatchObject({ reason: 'ConnectionLoss' })
  })

  it('survives pauses between requests by pings', async () => {
    const { client, told } = await open({ timeoutMs: 1000 })
    const path = newPath()
    await make(client, path, '', 'ephemeral')
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(told).toEqual(['connected'])
    expect(await client.exists(path)).not.toBe(null)
  })

  it('keeps the process alive only while a request is pending', () => {
    const program = `
      import { nodeRuntime } from './src/core/runtime.ts'
      import { ZooKeeperClient } from './src/stores/zookeeper/client/client.ts'
      const nothing = () => {}
      const listener = { connected: nothing, disconnected: nothing, expired: nothing }
      const servers = [{ host: '127.0.0.1', port: ${ensemble.ports[0]} }]
      const client = new ZooKeeperClient({ servers, timeoutMs: 60000, auth: null, tls: null, runtime: nodeRuntime }, listener)
      await client.session.ready(5000)
      const names = await client.list('/')
      console.log(names.includes('zookeeper'))
    `
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program]
    const output = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 })
    expect(output.trim()).toBe('true')
  })
})
