// Shows: a lock inside your own transaction in PostgreSQL: lock and data commit together or not at all, and a savepoint
//        takes back one part of the work while the lock stays.
// Run:   node --import tsx examples/postgres-transaction.ts
// Prints:
//   20 buyers, 10 in stock: 10 served, 0 left
//   transfer of 30: done
//   transfer of 500: taken back (not enough money)
//   ada has 70, bob has 30, and one bonus was left out
import { createLocks } from 'holdfast'
import { postgres } from 'holdfast/postgres'
import pg from 'pg'
import { startPostgres } from '../scripts/servers/postgres.ts'

const server = await startPostgres()
const pool = new pg.Pool({ connectionString: server.url })
const locks = createLocks({ store: postgres(pool) })
await pool.query(`CREATE TABLE stock (item text, left_over int); INSERT INTO stock VALUES ('lamp', 10);
  CREATE TABLE accounts (name text, amount int CHECK (amount >= 0)); INSERT INTO accounts VALUES ('ada', 100), ('bob', 0)`)

async function transaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect()
  try {
    await tx.query('BEGIN')
    const result = await work(tx)
    await tx.query('COMMIT')
    return result
  } catch (error) {
    await tx.query('ROLLBACK')
    throw error
  } finally {
    tx.release()
  }
}

const buy = () =>
  transaction((tx) =>
    locks.within(tx, 'stock:lamp', async () => {
      const { rows } = await tx.query('SELECT left_over FROM stock')
      if (rows[0].left_over === 0) return false
      await tx.query('UPDATE stock SET left_over = $1', [rows[0].left_over - 1])
      return true
    }),
  )

const served: boolean[] = []
for (let round = 0; round < 5; round++) served.push(...(await Promise.all([buy(), buy(), buy(), buy()])))
const [{ left_over }] = (await pool.query('SELECT left_over FROM stock')).rows
console.log(`20 buyers, 10 in stock: ${served.filter(Boolean).length} served, ${left_over} left`)

async function transfer(amount: number): Promise<void> {
  await transaction((tx) =>
    locks.within(tx, 'accounts', async () => {
      const move = 'UPDATE accounts SET amount = amount + $1 WHERE name = $2'
      await tx.query(move, [amount, 'bob'])
      await tx.query('SAVEPOINT bonus')
      await tx.query(move, [5, 'bob'])
      // The bonus is off, the transfer goes on, and the key is still locked.
      await tx.query('ROLLBACK TO SAVEPOINT bonus')
      await tx.query(move, [-amount, 'ada'])
    }),
  )
}

for (const amount of [30, 500]) {
  const outcome = await transfer(amount).then(
    () => 'done',
    () => 'taken back (not enough money)',
  )
  console.log(`transfer of ${amount}: ${outcome}`)
}
const { rows } = await pool.query('SELECT amount FROM accounts ORDER BY name')
console.log(`ada has ${rows[0].amount}, bob has ${rows[1].amount}, and one bonus was left out`)

await locks.close()
await pool.end()
await server.stop()
