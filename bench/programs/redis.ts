import { entryOf } from '../redis/catalogue.ts'
import { runLaps } from '../redis/laps.ts'
import type { Message, Orders } from '../redis/orders.ts'
import type { RedisSubject } from '../redis/subject.ts'

/** Does what it is told with the subjects that it is told, until nobody tells it anything any more. */
const url = process.argv[2] as string
const subjects = new Map<string, Promise<RedisSubject>>()

process.on('message', async (message: Message) => {
  process.send?.(await answer(message))
})
process.on('disconnect', async () => {
  for (const subject of subjects.values()) await (await subject).close()
})

async function answer({ kind, order }: Message): Promise<Orders[keyof Orders]['answer']> {
  const subject = await opened(order.subject)
  switch (kind) {
    case 'open':
      return null
    case 'laps':
      return await runLaps(subject, order as Orders['laps']['order'])
  }
}

function opened(name: string): Promise<RedisSubject> {
  const known = subjects.get(name)
  if (known !== undefined) return known
  const subject = entryOf(name).open(url)
  subjects.set(name, subject)
  return subject
}
