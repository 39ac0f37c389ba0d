import type { Store } from 'holdfast'
import { redis } from 'holdfast/redis'
import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import type { StoreNotice } from '../../../src/core/store.ts'
import type { Claim } from '../../../src/model/index.ts'

let ids = 0

/** A process without any timer: it attempts when the test says so, or when it is told to. */
export class Process {
  readonly store: Store
  readonly heard: StoreNotice[] = []

  private constructor(client: Redis) {
    this.store = redis(client, { format: 'plain', check: false })
  }

  /** A process that hears: an attempt of nothing waits for its subscription. */
  static async open(client: Redis): Promise<Process> {
    const process = new Process(client)
    process.store.notices((notice) => process.heard.push(notice))
    await process.store.attempt([])
    return process
  }

  claim(key: string, changes: Partial<Claim> = {}): Claim {
    const id = `claim ${++ids}`
    const rest = { owner: null, actor: null, meta: null, lockDelayMs: 0, group: null, replaces: null }
    return {
      key,
      id,
      mode: { kind: 'exclusive' },
      ttlMs: 60_000,
      queue: true,
      label: 'host',
      ...rest,
      ...changes,
    }
  }

  async attempt(claim: Claim) {
    const [answer] = await this.store.attempt([claim])
    return answer
  }

  async joined(key: string, changes: Partial<Claim> = {}): Promise<Claim> {
    const claim = this.claim(key, changes)
    expect(await this.attempt(claim)).toMatchObject({ kind: 'blocked' })
    return claim
  }

  async taken(key: string, changes: Partial<Claim> = {}): Promise<Claim> {
    const claim = this.claim(key, changes)
    expect(await this.attempt(claim)).toMatchObject({ kind: 'granted' })
    return claim
  }

  async renew(claim: Claim) {
    const [answer] = await this.store.renew([claim])
    return answer
  }

  async release(claim: Claim): Promise<void> {
    expect(await this.store.release([claim])).toEqual([{ kind: 'released' }])
  }

  /** The claims that were told that they should attempt, in that order. */
  told(): string[] {
    return this.heard.filter(({ kind }) => kind === 'retry').map(({ id }) => id)
  }
}

/** The calls and commands that the server did for a step. */
export async function statsOf(operator: Redis, step: () => unknown) {
  await operator.config('RESETSTAT')
  await step()
  const text = await operator.info('commandstats')
  const all = [...text.matchAll(/cmdstat_(\w+):calls=(\d+),usec=(\d+)/g)].map(
    ([, name, calls, us]) => [name as string, Number(calls), Number(us)] as const,
  )
  const scripts = all.filter(([name]) => name.startsWith('eval'))
  const inside = all.filter(([name]) => !/^(eval|config|info|script)/.test(name))
  return {
    calls: scripts.reduce((sum, [, calls]) => sum + calls, 0),
    busyUs: scripts.reduce((sum, [, , us]) => sum + us, 0),
    commands: inside.reduce((sum, [, calls]) => sum + calls, 0),
  }
}
