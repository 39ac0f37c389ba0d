import { messageOf } from '../../../src/cli/output.ts'
import type { Stage } from '../context.ts'
import type { Table } from '../figures.ts'
import { claim, type Scenario, type ScenarioOutcome } from '../scenario.ts'
import { openDatabase, type SqlDatabase } from '../sql/database.ts'
import { WireConnection } from '../wire/connection.ts'
import { RedisError, type Reply } from '../wire/protocol.ts'
import { textOf } from '../wire/text.ts'

const COLUMNS = ['', 'command', 'answer'] as const
const TRANSFER = 30

/** The effect of an error in the middle of a transaction of Redis, and of one of SQL. */
export const TRANSACTIONS: Scenario = {
  name: 'transactions',
  group: 'transactions',
  title: 'Transactions of Redis against those of SQL: an error in the middle',
  about: `${TRANSFER} of the 100 of A go to B, but the second command cannot be done. Then a command that Redis refuses at once, DISCARD, what others see meanwhile, and WATCH.`,
  async run(stage) {
    const connection = await WireConnection.open(stage.place.address.url)
    const other = await WireConnection.open(stage.place.address.url)
    const database = await openDatabase(stage.sql)
    try {
      return await compare(new Transcript(connection, stage), new Transcript(other, stage), database)
    } finally {
      await database.close()
      connection.close()
      other.close()
    }
  },
}

/** Sends commands and writes down what came back. Names in braces stand for keys of this run. */
class Transcript {
  private readonly connection: WireConnection
  private readonly keyFor: (name: string) => string

  constructor(connection: WireConnection, { place }: Stage) {
    this.connection = connection
    this.keyFor = place.keyFor
  }

  async say(rows: string[][], part: string, command: string): Promise<Reply> {
    const words = command.split(' ').map((word) => word.replace(/^\{(.*)\}$/, (_, name) => this.keyFor(name)))
    const reply = await this.connection.ask(...words)
    rows.push([part, command.replace(/[{}]/g, ''), textOf(reply)])
    return reply
  }
}

async function compare(
  redis: Transcript,
  other: Transcript,
  database: SqlDatabase,
): Promise<ScenarioOutcome> {
  const rows: string[][] = []
  const say = (part: string, command: string): Promise<Reply> => redis.say(rows, part, command)
  await say('', 'SET {A} 100')
  await say('', 'SET {B} none')
  await say('an error while it runs', 'MULTI')
  await say('', `DECRBY {A} ${TRANSFER}`)
  await say('', `INCRBY {B} ${TRANSFER}`)
  const exec = (await say('', 'EXEC')) as readonly Reply[]
  const afterError = await say('', 'GET {A}')

  const sql = await sqlTransfer(database, rows)

  await say('an error while it is queued', 'MULTI')
  await say('', 'SET {A} 1')
  await say('', 'SET {A}')
  const aborted = await say('', 'EXEC')
  await say('DISCARD', 'MULTI')
  await say('', 'SET {A} 2')
  const seenMeanwhile = await other.say(rows, 'another client', 'GET {A}')
  await say('', 'DISCARD')
  const afterDiscard = await say('', 'GET {A}')

  await say('WATCH', 'WATCH {A}')
  await other.say(rows, 'another client', 'SET {A} 80')
  await say('', 'MULTI')
  await say('', 'SET {A} 3')
  const watched = await say('', 'EXEC')

  const figure: Table = { kind: 'table', title: 'What was sent, and what came back', columns: COLUMNS, rows }
  return {
    figures: [figure],
    claims: [
      claim(
        exec.length === 2 && exec[1] instanceof RedisError && afterError === '70',
        `Redis kept the other command: A has ${afterError}, and the ${TRANSFER} are nowhere`,
      ),
      claim(sql.failed && sql.balance === '100', `${database.name} rolled back: A has ${sql.balance}`),
      claim(
        aborted instanceof RedisError && aborted.message.startsWith('EXECABORT'),
        'a command that cannot be queued ends the whole transaction: nothing was done',
      ),
      claim(
        seenMeanwhile === '70' && afterDiscard === '70',
        'nobody sees a queued command, and DISCARD drops them all',
      ),
      claim(watched === null, 'EXEC did nothing (nil) because another had written to the watched key'),
    ],
    verdict:
      'EXEC keeps others out while it runs, but it takes nothing back. What has to be all or nothing belongs into a script that checks first, or into a database that can roll back.',
    data: { transcript: rows, database: database.name },
  }
}

async function sqlTransfer(
  database: SqlDatabase,
  rows: string[][],
): Promise<{ failed: boolean; balance: string | null }> {
  const { name } = database
  const send = async (part: string, statement: string): Promise<string | null> => {
    const answer = await database.run(statement)
    rows.push([part, statement, answer ?? 'OK'])
    return answer
  }
  await send(name, 'CREATE TEMPORARY TABLE account (name TEXT, balance INTEGER CHECK (balance >= 0))')
  await send('', "INSERT INTO account VALUES ('A', 100), ('B', 0)")
  await send('', 'BEGIN')
  await send('', `UPDATE account SET balance = balance - ${TRANSFER} WHERE name = 'A'`)
  const failing = "UPDATE account SET balance = -1 WHERE name = 'B'"
  const failed = await database.run(failing).then(
    () => false,
    (error: unknown) => {
      rows.push(['', failing, `(error) ${messageOf(error)}`])
      return true
    },
  )
  await send('', 'ROLLBACK')
  return { failed, balance: await send('', "SELECT balance FROM account WHERE name = 'A'") }
}
