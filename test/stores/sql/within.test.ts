import { createLocks } from 'holdfast'
import { memory } from 'holdfast/memory'
import { afterAll, describe, expect, it } from 'vitest'
import { type Library, startDatabases } from './databases.ts'

interface Gate {
  readonly open: () => void
  readonly opened: Promise<void>
}

const databases = await startDatabases()
afterAll(() => databases.close())

for (const library of databases.libraries) {
  const { locks, begin, run, name } = library
  const table = `accounts_${name}`
  const isPostgres = name.startsWith('p')
  await run(`CREATE TABLE ${table} (id INT PRIMARY KEY, amount INT NOT NULL)`)
  await run(`INSERT INTO ${table} VALUES (1, 100), (2, 0)`)
  const amountOf = async (id: number, ask: Pick<Library, 'run'> = library) =>
    Number((await ask.run(`SELECT amount FROM ${table} WHERE id = ${id}`))[0]?.amount)

  describe(`within a transaction of ${name}`, () => {
    it('keeps others out until the commit, and then the data is there and the key is free', async () => {
      const tx = await begin()
      const token = await locks.within(tx.handle, 'commit', async (hold) => {
        await tx.run(`UPDATE ${table} SET amount = amount + 1 WHERE id = 2`)
        expect(await locks.tryAcquire('commit')).toBeNull()
        expect(await amountOf(2)).toBe(0)
        return hold.token
      })
      expect(await locks.tryAcquire('commit')).toBeNull()
      await tx.commit()
      expect(await amountOf(2)).toBe(1)
      const lease = await locks.acquire('commit', { wait: 2000 })
      expect(lease.token).toBeGreaterThan(token)
      await lease.release()
      await run(`UPDATE ${table} SET amount = 0 WHERE id = 2`)
    })

    it('hands the key to a waiter soon after the commit, however long its ttl', async () => {
      const tx = await begin()
      await locks.within(tx.handle, 'wanted', () => {})
      const waits = new Promise<void>((resolve) => void locks.on('waiting', () => resolve()))
      const waiting = locks.acquire('wanted', { ttl: 60_000, wait: 60_000 })
      await waits
      const committedAtMs = performance.now()
      await tx.commit()
      await (await waiting).release()
      expect(performance.now() - committedAtMs).toBeLessThan(3000)
    })

    it('rolls back lock and data together', async () => {
      const before = await locks.using('rollback', (lease) => lease.token as bigint)
      const tx = await begin()
      await locks.within(tx.handle, 'rollback', () => tx.run(`UPDATE ${table} SET amount = 7 WHERE id = 1`))
      await tx.rollback()
      expect(await amountOf(1)).toBe(100)
      expect(await locks.using('rollback', (lease) => lease.token as bigint)).toBeGreaterThan(before)
    })

    it('waits for a lease, lets its holder release, and names it', async () => {
      const lease = await locks.acquire('leased')
      const tx = await begin()
      const late = locks.within(tx.handle, 'leased', { wait: 100 }, () => 'never')
      await expect(late).rejects.toMatchObject({
        code: 'LOCK_TIMEOUT',
        key: 'leased',
        holder: expect.any(String),
      })
      const waiting = locks.within(tx.handle, 'leased', { wait: 5000 }, (hold) => hold.token)
      expect(await lease.release()).toBe('released')
      expect(await waiting).toBeGreaterThan(lease.token as bigint)
      await tx.commit()
    })

    it('is exclusive between transactions: no update is lost', async () => {
      const add = async () => {
        const tx = await begin()
        await locks.within(tx.handle, 'counter', { wait: 10_000 }, async () => {
          const amount = await amountOf(2, tx)
          await tx.run(`UPDATE ${table} SET amount = ${amount + 1} WHERE id = 2`)
        })
        await tx.commit()
      }
      const workers = Array.from({ length: 4 }, async () => {
        for (let round = 0; round < 5; round++) await add()
      })
      await Promise.all(workers)
      expect(await amountOf(2)).toBe(20)
    })

    it('ends one of two transactions that wait for each other as a ConflictError, and lets the other commit', async () => {
      const both = async (first: string, second: string, met: Promise<unknown>, here: () => void) => {
        const tx = await begin()
        try {
          await locks.within(tx.handle, first, async () => {
            here()
            await met
            await locks.within(tx.handle, second, { wait: 20_000 }, () => {})
          })
          await tx.commit()
          return 'committed'
        } catch (error) {
          await tx.rollback()
          expect(error).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('circle') })
          return 'refused'
        }
      }
      const gates = [0, 1].map(() => {
        let open = (): void => {}
        const opened = new Promise<void>((resolve) => {
          open = resolve
        })
        return { open, opened }
      }) as [Gate, Gate]
      const met = Promise.all(gates.map(({ opened }) => opened))
      const ends = await Promise.all([
        both('left', 'right', met, gates[0].open),
        both('right', 'left', met, gates[1].open),
      ])
      expect(ends.sort()).toEqual(['committed', 'refused'])
    })

    it('stays locked when only a part of the transaction is rolled back', async () => {
      const tx = await begin()
      await locks.within(tx.handle, 'savepoint', async () => {
        await tx.run(`UPDATE ${table} SET amount = amount - 30 WHERE id = 1`)
        await tx.run('SAVEPOINT fee')
        await tx.run(`UPDATE ${table} SET amount = amount - 5 WHERE id = 1`)
        await tx.run('ROLLBACK TO SAVEPOINT fee')
        expect(await locks.tryAcquire('savepoint')).toBeNull()
      })
      await tx.commit()
      expect(await amountOf(1)).toBe(70)
    })

    it('can be taken again by its transaction, also after a savepoint was released', async () => {
      const tx = await begin()
      await tx.run('SAVEPOINT part')
      await locks.within(tx.handle, 'nested', async (outer) => {
        const inner = await locks.within(tx.handle, 'nested', { wait: 1000 }, (hold) => hold.token)
        expect(inner).toBeGreaterThan(outer.token)
      })
      await tx.run('RELEASE SAVEPOINT part')
      expect(await locks.tryAcquire('nested')).toBeNull()
      await locks.within(tx.handle, 'nested', { wait: 1000 }, () => {})
      await tx.commit()
      await locks.using('nested', { wait: 2000 }, () => {})
    })

    it.each([
      ['goes with it', isPostgres ? 'after other work' : 'before any other work', true],
      isPostgres
        ? ['goes with it', 'before any other work', true]
        : ['stays, as every lock of InnoDB', 'after other work', false],
    ] as const)('taken inside a savepoint that is rolled back, %s: %s', async (_, when, isFree) => {
      const key = `undone ${when} ${name}`
      const tx = await begin()
      if (when === 'after other work') await tx.run(`UPDATE ${table} SET amount = 1 WHERE id = 2`)
      await tx.run('SAVEPOINT outer_part')
      await tx.run('SAVEPOINT inner_part')
      const { token } = await locks.within(tx.handle, key, (hold) => hold)
      await tx.run('RELEASE SAVEPOINT inner_part')
      await tx.run('ROLLBACK TO SAVEPOINT outer_part')
      const lease = await locks.tryAcquire(key)
      if (isFree) {
        expect(lease?.token).toBeGreaterThan(token)
        await lease?.release()
      } else expect(lease).toBeNull()
      const again = await locks.within(tx.handle, key, { wait: 2000 }, (hold) => hold.token)
      expect(again).toBeGreaterThan(token)
      await tx.commit()
      await locks.using(key, { wait: 2000 }, () => {})
    })

    it('refuses a pool, and a connection without a transaction', async () => {
      await expect(locks.within(library.pool, 'refused', () => {})).rejects.toThrow(/not its pool/)
      const tx = await begin()
      await tx.run('COMMIT')
      await expect(locks.within(tx.handle, 'refused', () => {})).rejects.toThrow(
        /must have begun a transaction/,
      )
      await tx.rollback()
    })
  })
}

it('is refused by a store that keeps its locks elsewhere', async () => {
  const locks = createLocks({ store: memory() })
  await expect(locks.within({}, 'key', () => {})).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  await locks.close()
})
