import { entryOf } from '../redis/catalogue.ts'
import type { Kind, Message, Orders } from '../redis/orders.ts'
import type { Addresses, RedisSubject } from '../redis/subject.ts'
import { letGo, rest, rival, take } from '../redis/work/keep.ts'
import { runLaps } from '../redis/work/laps.ts'
import { runLine } from '../redis/work/line.ts'

type Work = {
  [K in Kind]: (subject: RedisSubject, order: Orders[K]['order']) => Promise<Orders[K]['answer']>
}

const WORK: Work = {
  open: async () => null,
  laps: runLaps,
  line: runLine,
  take,
  rest: (_, order) => rest(order),
  rival,
  letGo,
}

/** Does what it is told with the subjects that it is told, until nobody tells it anything any more. */
const addresses = JSON.parse(process.argv[2] as string) as Addresses
const subjects = new Map<string, Promise<RedisSubject>>()

process.on('message', async <K extends Kind>({ kind, order }: Message<K>) => {
  const subject = await opened(order.subject)
  process.send?.(await WORK[kind](subject, order))
})
process.on('disconnect', async () => {
  for (const subject of subjects.values()) await (await subject).close()
})

function opened(name: string): Promise<RedisSubject> {
  const known = subjects.get(name)
  if (known !== undefined) return known
  const subject = entryOf(name)
    .open(addresses)
    .then(async (fresh) => {
      // The first lock makes connections and loads scripts, which no later one does.
      await fresh.run(`${name}, first`, async () => {})
      return fresh
    })
  subjects.set(name, subject)
  return subject
}
