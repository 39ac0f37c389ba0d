import { type ChildProcess, fork } from 'node:child_process'
import { ChildError } from '../../../src/cli/exit.ts'
import type { Stage } from '../context.ts'
import type { Bars } from '../figures.ts'
import type { FromRacer, Protection, RaceOrder } from '../race/messages.ts'
import { claim, type Scenario, type ScenarioOutcome } from '../scenario.ts'
import { WireConnection } from '../wire/connection.ts'

const STOCK = 40
const PROCESSES = 4
const BUYERS = 3
const PAYMENT_MS = 6

interface Result {
  readonly protection: Protection
  readonly sold: number
  readonly soldTwice: number
}

const NAMES: Record<Protection, string> = {
  none: 'no lock',
  local: 'a mutex in each process',
  lock: 'a lock for all: Holdfast',
}

/** Read-modify-write by several processes. */
export const OVERSOLD: Scenario = {
  name: 'oversold',
  group: 'oversold',
  title: 'The oversold stock: several processes read, think and write',
  about: `${PROCESSES} processes with ${BUYERS} buyers each sell ${STOCK} units: GET the stock, take the payment, SET the stock. First without a lock, then with a mutex in each process, then with a lock that all of them share.`,
  async run(stage) {
    const results: Result[] = []
    for (const protection of ['none', 'local', 'lock'] as const) results.push(await sale(protection, stage))
    return outcomeOf(results)
  },
}

function outcomeOf(results: readonly Result[]): ScenarioOutcome {
  const [none, local, lock] = results as readonly [Result, Result, Result]
  const figure: Bars = {
    kind: 'bars',
    title: `Units sold of a stock of ${STOCK}`,
    limit: { value: STOCK, name: `stock ${STOCK}` },
    bars: results.map(({ protection, sold, soldTwice }) => ({
      name: NAMES[protection],
      value: sold,
      tone: sold === STOCK ? 'good' : 'bad',
      remark: sold === STOCK ? 'exact' : `${sold - STOCK} too many, ${soldTwice} units sold twice or more`,
    })),
  }
  return {
    figures: [figure],
    claims: [
      claim(none.sold > STOCK, `without a lock ${none.sold} units were sold of ${STOCK}`),
      claim(local.sold > STOCK, `a mutex in each process does not help: ${local.sold} were sold`),
      claim(
        lock.sold === STOCK && lock.soldTwice === 0,
        `with a lock for all exactly ${lock.sold} were sold, each once`,
      ),
    ],
    verdict:
      'A lock inside a process ends where the process ends. What several of them share needs a lock outside of all.',
    data: { stock: STOCK, results },
  }
}

async function sale(protection: Protection, { place, screen, cancelled }: Stage): Promise<Result> {
  const key = place.keyFor(`stock-${protection}`)
  const { url, fencedUrl } = place.address
  const connection = await WireConnection.open(url)
  const order: RaceOrder = { protection, url, fencedUrl, key, buyers: BUYERS, paymentMs: PAYMENT_MS }
  const children = Array.from({ length: PROCESSES }, () =>
    fork(process.argv[1]!, ['lab-racer', JSON.stringify(order)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  )
  const dismiss = (): void => {
    for (const child of children) child.kill('SIGKILL')
  }
  cancelled.addEventListener('abort', dismiss)
  try {
    await connection.call('SET', key, STOCK)
    screen.follow(() => `  ${NAMES[protection]} …`)
    await Promise.all(children.map((child) => heard(child, 'ready')))
    for (const child of children) child.send('open')
    const units = (await Promise.all(children.map((child) => heard(child, 'done')))).flatMap(unitsOf)
    const soldTwice = [...new Set(units)].filter(
      (unit) => units.indexOf(unit) !== units.lastIndexOf(unit),
    ).length
    return { protection, sold: units.length, soldTwice }
  } finally {
    screen.clear()
    cancelled.removeEventListener('abort', dismiss)
    dismiss()
    connection.close()
  }
}

function unitsOf(message: FromRacer): readonly number[] {
  return message.kind === 'done' ? message.units : []
}

function heard(child: ChildProcess, kind: FromRacer['kind']): Promise<FromRacer> {
  return new Promise((resolve, reject) => {
    let problem: string | null = null
    child.on('message', (message: FromRacer) => {
      if (message.kind === 'failed') problem = message.message
      if (message.kind === kind) resolve(message)
    })
    child.once('error', reject)
    child.once('close', (code) =>
      reject(new ChildError(`a process of the race failed: ${problem ?? `exit code ${code}`}`, code)),
    )
  })
}
