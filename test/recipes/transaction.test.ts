import { ConflictError, StoreError, TransactionError } from 'holdfast'
import { type TransactionClient, transaction } from 'holdfast/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../scripts/servers/redis.ts'
import { CLIENTS } from '../stores/redis/clients.ts'
import { Overseer } from '../stores/redis/overseer.ts'
import { startStalling } from '../stores/redis/stalling.ts'

let server: RedisServer
let operator: Redis
let overseer: Overseer

beforeAll(async () => {
  server = await startRedis()
  operator = new Redis(server.port)
  overseer = new Overseer(operator)
})

afterAll(async () => {
  operator?.disconnect()
  await server?.stop()
})

for (const library of ['ioredis 5', 'ioredis 6', 'redis 5', 'redis 6']) {
  describe(`with ${library}`, () => {
    const name = `transaction-${library.replace(' ', '-')}`
    let client: TransactionClient
    let close: () => unknown
    let keys = 0

    beforeAll(async () => {
      const brought = await (CLIENTS[library] as (typeof CLIENTS)[string])(server.port, name)
      client = brought.client as TransactionClient
      close = brought.close
    })

    afterAll(() => close?.())

    const newKey = () => `${library} ${++keys}`
    const increment = (key: string, meanwhile: () => Promise<unknown> = async () => {}) =>
      transaction(
        client,
        [key],
        async (tx) => {
          const next = Number(await tx.read('GET', key)) + 1
          await meanwhile()
          tx.queue('SET', key, next)
          return next
        },
        { tries: 100 },
      )

    it('reads, and writes what was queued as one', async () => {
      const key = newKey()
      const result = await transaction(client, [key], async (tx) => {
        const before = await tx.read('GET', key)
        tx.queue('SET', key, 'ä 1')
        tx.queue('APPEND', key, Buffer.from('!'))
        tx.queue('APPEND', key, new TextEncoder().encode('?'))
        tx.queue('EXPIRE', key, 100n)
        return before
      })
      expect(result).toEqual({ value: null, replies: ['OK', 5, 6, 1], tries: 1 })
      expect(await operator.get(key)).toBe('ä 1!?')
    })

    it('begins again when somebody else changed a key', async () => {
      const key = newKey()
      let changed = false
      const result = await increment(key, async () => {
        if (!changed) await operator.set(key, 41)
        changed = true
      })
      expect(result).toMatchObject({ value: 42, tries: 2 })
      expect(await operator.get(key)).toBe('42')
    })

    it('loses no update, on a bounded number of connections', async () => {
      const key = newKey()
      let most = 0
      const meanwhile = async () => {
        most = Math.max(most, await overseer.connections(name))
      }
      await Promise.all(Array.from({ length: 30 }, () => increment(key, meanwhile)))
      expect(await operator.get(key)).toBe('30')
      // The client itself and ten beside it.
      expect(most).toBeLessThanOrEqual(11)
      expect(most).toBeGreaterThan(2)
    })

    it('gives up after its tries, and says how many they were', async () => {
      const key = newKey()
      const hopeless = transaction(
        client,
        [key],
        async (tx) => {
          await operator.incr(key)
          tx.queue('SET', key, 'ours')
        },
        { tries: 3 },
      )
      const error = await hopeless.catch((error) => error)
      expect(error).toBeInstanceOf(ConflictError)
      expect(error).toMatchObject({ code: 'CONFLICT', tries: 3, message: expect.stringContaining('3 tries') })
      expect(await operator.get(key)).toBe('3')
    })

    it('finds out whether what was only read was true at one moment', async () => {
      const [a, b] = [newKey(), newKey()]
      await operator.mset(a, 1, b, 1)
      let runs = 0
      const { value, tries } = await transaction(client, [a, b], async (tx) => {
        const first = await tx.read('GET', a)
        if (++runs === 1) await operator.mset(a, 2, b, 2)
        return [first, await tx.read('GET', b)]
      })
      expect({ value, tries }).toEqual({ value: ['2', '2'], tries: 2 })
    })

    it('passes on what the function throws, writes nothing and stops watching', async () => {
      const key = newKey()
      await increment(key)
      const before = await overseer.calls('unwatch')
      const failure = new Error('changed my mind')
      const thrown = transaction(client, [key], (tx) => {
        tx.queue('SET', key, 'never')
        throw failure
      })
      await expect(thrown).rejects.toBe(failure)
      await expect.poll(() => overseer.calls('unwatch')).toBe(before + 1)
      expect(await operator.get(key)).toBe('1')
      const count = await overseer.connections(name)
      await operator.set(key, 5)
      expect(await increment(key), 'the connection is used again, and watches nothing old').toMatchObject({
        value: 6,
        tries: 1,
      })
      expect(await overseer.connections(name)).toBe(count)
    })

    it('reports every command that the server refuses, and that nothing was done', async () => {
      const key = newKey()
      const error = await transaction(client, [key], (tx) => {
        tx.queue('SET', key, 'x')
        tx.queue('NOSUCHCOMMAND', 'secret')
        tx.queue('GET')
      }).catch((error) => error)
      expect(error).toBeInstanceOf(TransactionError)
      expect(error).toMatchObject({ code: 'TRANSACTION_FAILED', applied: false })
      expect(error.outcomes.map(commandAndError)).toEqual([
        ['SET', null],
        ['NOSUCHCOMMAND', expect.stringContaining('unknown command')],
        ['GET', expect.stringContaining('wrong number of arguments')],
      ])
      expect(error.message).toMatch(/nothing was done.*command 2, NOSUCHCOMMAND.*command 3, GET/)
      expect(error.message).not.toContain('secret')
      expect(await operator.exists(key)).toBe(0)
      expect(await increment(key)).toMatchObject({ value: 1 })
    })

    it('reports every command that fails, and that the others stay done', async () => {
      const [text, other] = [newKey(), newKey()]
      await operator.set(text, 'text')
      const error = await transaction(client, [text], (tx) => {
        tx.queue('INCR', text)
        tx.queue('SET', other, 'done')
        tx.queue('LPUSH', text, 'x')
      }).catch((error) => error)
      expect(error).toBeInstanceOf(TransactionError)
      expect(error).toMatchObject({ applied: true })
      expect(error.outcomes.map(commandAndError)).toEqual([
        ['INCR', expect.stringContaining('not an integer')],
        ['SET', null],
        ['LPUSH', expect.stringContaining('WRONGTYPE')],
      ])
      expect(error.outcomes[1].reply).toBe('OK')
      expect(await operator.get(other), 'Redis does not roll back').toBe('done')
    })

    it('passes on what the server says of a read', async () => {
      const key = newKey()
      await operator.set(key, 'text')
      await expect(transaction(client, [key], (tx) => tx.read('LRANGE', key, 0, -1))).rejects.toThrow(
        /WRONGTYPE/,
      )
    })

    it('never writes on a connection that no longer watches', async () => {
      const key = newKey()
      const broken = transaction(client, [key], async (tx) => {
        await tx.read('GET', key)
        await operator.set(key, 'theirs')
        for (const id of await overseer.watchers(name)) await operator.call('CLIENT', ['KILL', 'ID', id])
        await expect.poll(() => overseer.watchers(name)).toEqual([])
        tx.queue('SET', key, 'ours')
      })
      await expect(broken).rejects.toThrow(StoreError)
      expect(await operator.get(key)).toBe('theirs')
      expect(await increment(newKey())).toMatchObject({ value: 1 })
    })

    it('ends in time when the server stands still', async () => {
      const key = newKey()
      await increment(key)
      process.kill(server.pid, 'SIGSTOP')
      try {
        const stuck = transaction(client, [key], (tx) => tx.queue('SET', key, 'late'), { timeout: '200ms' })
        await expect(stuck).rejects.toThrow(/no answer \(WATCH\) within 200 ms; nothing was written/)
      } finally {
        process.kill(server.pid, 'SIGCONT')
      }
      expect(await increment(key)).toMatchObject({ value: 2 })
    })

    it('says that the outcome is unknown when the server stands still at the end', async () => {
      const key = newKey()
      const stuck = transaction(
        client,
        [key],
        async (tx) => {
          await tx.read('GET', key)
          tx.queue('SET', key, 'late')
          process.kill(server.pid, 'SIGSTOP')
        },
        { timeout: 300 },
      )
      await expect(stuck.finally(() => process.kill(server.pid, 'SIGCONT'))).rejects.toThrow(/EXEC.*unknown/)
    })

    it('ends in time when the function does not', async () => {
      const key = newKey()
      let late: Promise<unknown> | undefined
      const slow = transaction(
        client,
        [key],
        async (tx) => {
          await new Promise((resolve) => tx.signal.addEventListener('abort', resolve))
          late = Promise.resolve().then(() => tx.read('GET', key))
          late.catch(() => {})
        },
        { timeout: 50 },
      )
      await expect(slow).rejects.toThrow(/function of the transaction took longer than 50 ms/)
      await expect.poll(() => late !== undefined).toBe(true)
      await expect(late).rejects.toThrow(/over/)
    })

    it('gives up when its caller does', async () => {
      const key = newKey()
      const controller = new AbortController()
      const reason = new Error('enough')
      const cancelled = transaction(
        client,
        [key],
        async (tx) => {
          await tx.read('GET', key)
          controller.abort(reason)
          await new Promise(() => {})
        },
        { signal: controller.signal },
      )
      await expect(cancelled).rejects.toBe(reason)
      await expect(transaction(client, [key], () => 'never run', { signal: controller.signal })).rejects.toBe(
        reason,
      )
      await expect.poll(() => overseer.watchers(name)).toEqual([])
    })

    it('recovers from connections that are accepted and hear nothing', async () => {
      const way = await startStalling(server.port)
      const own = await (CLIENTS[library] as (typeof CLIENTS)[string])(way.port, `${name}-silent`)
      try {
        await expect.poll(way.answering).toBe(1)
        way.serve(0)
        const call = (timeout: number) =>
          transaction(own.client as TransactionClient, ['a'], (tx) => tx.queue('PING'), { timeout })
        // More than there are connections: the last ones wait for their turn.
        const unanswered = await Promise.allSettled(Array.from({ length: 15 }, () => call(100)))
        for (const each of unanswered)
          expect(String(Object(each).reason)).toMatch(
            /no answer \(a connection\) within 100 ms; nothing was written/,
          )
        way.serve(Number.POSITIVE_INFINITY)
        expect(await call(20_000)).toMatchObject({ replies: ['PONG'], tries: 1 })
        // The client and the one connection that answered; the silent ones are gone.
        await expect.poll(way.open, { timeout: 10_000 }).toBe(2)
      } finally {
        await own.close()
        await way.close()
      }
    })

    it('closes its connections with the client', async () => {
      const own = await (CLIENTS[library] as (typeof CLIENTS)[string])(server.port, `${name}-closed`)
      await transaction(own.client as TransactionClient, ['a'], (tx) => tx.queue('PING'))
      expect(await overseer.connections(`${name}-closed`)).toBe(2)
      await own.close()
      await expect.poll(() => overseer.connections(`${name}-closed`)).toBe(0)
      await expect(transaction(own.client as TransactionClient, ['a'], () => {})).rejects.toThrow(
        /not connected/,
      )
    })
  })
}

function commandAndError({ command, error }: { command: string; error: Error | null }) {
  return [command, error === null ? null : error.message]
}
