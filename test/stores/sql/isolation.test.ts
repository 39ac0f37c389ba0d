import { updateFencedMysql, updateFencedPg } from 'holdfast/guard'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { type Level, type Library, startDatabases, type Tx } from './databases.ts'

/** Every claim of docs/isolation.md, on real servers. */
const databases = await startDatabases()
afterAll(() => databases.close())

const LEVELS: readonly Level[] = ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']
const [postgres, mariadb] = [databases.libraries[0] as Library, databases.libraries[2] as Library]

for (const [name, library] of Object.entries({ PostgreSQL: postgres, MariaDB: mariadb })) {
  const { locks, begin, run } = library
  const isPostgres = library === postgres
  await run('CREATE TABLE doctors (id INT PRIMARY KEY, duty INT NOT NULL)')
  const dutyOf = async (id: number, ask: Pick<Tx, 'run'> = library) =>
    Number((await ask.run(`SELECT duty FROM doctors WHERE id = ${id}`))[0]?.duty)
  const set = (tx: Pick<Tx, 'run'>, id: number, duty: number) =>
    tx.run(`UPDATE doctors SET duty = ${duty} WHERE id = ${id}`)

  describe(name, () => {
    beforeEach(async () => {
      await run('DELETE FROM doctors')
      await run('INSERT INTO doctors VALUES (1, 1), (2, 1)')
    })

    it.each(LEVELS)(
      '%s: uncommitted data is invisible, except in MariaDB at the lowest level',
      async (level) => {
        const writer = await begin('READ COMMITTED')
        await set(writer, 1, 9)
        const reader = await begin(level)
        const seen =
          isPostgres || level === 'READ UNCOMMITTED' || level !== 'SERIALIZABLE' ? await dutyOf(1, reader) : 1
        expect(seen).toBe(!isPostgres && level === 'READ UNCOMMITTED' ? 9 : 1)
        await writer.rollback()
        await reader.rollback()
      },
    )

    it.each(LEVELS)('%s: an update that depends on a read is lost, refused or kept', async (level) => {
      const outcome = await lostUpdate(level)
      const refused = isPostgres ? ['REPEATABLE READ', 'SERIALIZABLE'] : ['SERIALIZABLE']
      expect(outcome).toBe(refused.includes(level) ? 'refused' : 'lost')
    })

    it.each(LEVELS)('%s: with the lock in the transaction it is kept', async (level) => {
      const add = async () => {
        for (;;) {
          const tx = await begin(level)
          try {
            await locks.within(tx.handle, `duty ${level}`, { wait: 10_000 }, async () => {
              await set(tx, 1, (await dutyOf(1, tx)) + 1)
            })
            await tx.commit()
            return
          } catch (error) {
            // A snapshot that is older than the lock: the transaction is begun again.
            expect((error as { code: unknown }).code).toBe('CONFLICT')
            await tx.rollback()
          }
        }
      }
      await Promise.all([add(), add(), add()])
      expect(await dutyOf(1)).toBe(4)
    })

    it.each(LEVELS)(
      '%s: a rule over two rows is broken below the highest level, and kept with a lock',
      async (level) => {
        expect(await writeSkew(level, null)).toBe(level === 'SERIALIZABLE' ? 'kept' : 'broken')
        await run('UPDATE doctors SET duty = 1')
        expect(await writeSkew(level, 'ward')).toBe('kept')
      },
    )

    it('the fence refuses a write of a stale holder', async () => {
      await run(`CREATE TABLE fenced (id INT PRIMARY KEY, value INT NOT NULL, fence BIGINT NOT NULL)`)
      await run('INSERT INTO fenced VALUES (1, 0, 0)')
      const write = (token: bigint | null, value: number) => {
        const update = { table: 'fenced', where: { id: 1 }, set: { value }, token }
        return isPostgres
          ? updateFencedPg(library.pool as never, update)
          : updateFencedMysql(library.pool as never, update)
      }
      const [first, second] = [await locks.acquire('fenced'), locks.acquire('fenced')]
      expect(await write(first.token, 1)).toBe(true)
      await locks.evict('fenced')
      const next = await second
      expect(await write(next.token, 2)).toBe(true)
      await expect(write(first.token, 3)).rejects.toMatchObject({ code: 'STALE_TOKEN' })
      expect(await run('SELECT value FROM fenced')).toEqual([{ value: 2 }])
      await next.release()
    })
  })

  /** Both read, then both write what they made of it; the second to write begins when the first has committed. */
  async function lostUpdate(level: Level): Promise<'lost' | 'refused' | 'kept'> {
    const [first, second] = [await begin(level), await begin(level)]
    const [a, b] = [await dutyOf(1, first), await dutyOf(1, second)]
    const writes = [attempt(first, a), attempt(second, b)]
    const failed = (await Promise.all(writes)).filter((done) => !done).length
    if (failed > 0) return 'refused'
    return (await dutyOf(1)) === 3 ? 'kept' : 'lost'
  }

  async function attempt(tx: Tx, read: number): Promise<boolean> {
    try {
      await set(tx, 1, read + 1)
      await tx.commit()
      return true
    } catch {
      await tx.rollback()
      return false
    }
  }

  /** One of two doctors must stay; each goes if the other is there. */
  async function writeSkew(level: Level, key: string | null): Promise<'kept' | 'broken'> {
    const leave = async (own: number, other: number, ready: () => Promise<void>): Promise<void> => {
      const tx = await begin(level)
      const decide = async () => {
        const may = (await dutyOf(other, tx)) === 1
        await ready()
        if (may) await set(tx, own, 0)
      }
      try {
        if (key === null) await decide()
        else await locks.within(tx.handle, `${key} ${level}`, { wait: 10_000 }, decide)
        await tx.commit()
      } catch (error) {
        await tx.rollback()
        // Begun again, the transaction sees what the other one did.
        if ((error as { code: unknown }).code === 'CONFLICT') await leave(own, other, ready)
      }
    }
    const both = key === null ? meeting(2) : async () => {}
    await Promise.all([leave(1, 2, both), leave(2, 1, both)])
    return (await dutyOf(1)) + (await dutyOf(2)) === 0 ? 'broken' : 'kept'
  }
}

/** A barrier: each call waits until all have come. */
function meeting(count: number): () => Promise<void> {
  let missing = count
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    if (--missing === 0) open()
    return opened
  }
}
