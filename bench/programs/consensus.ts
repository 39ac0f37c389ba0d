import { CATALOGUES } from '../consensus/catalogues.ts'
import type { Assignment, Kind, Message, Orders } from '../consensus/orders.ts'
import type { Subject } from '../consensus/subject.ts'
import { runTrips } from '../consensus/trips.ts'
import { runLaps } from '../redis/work/laps.ts'
import { runLine } from '../redis/work/line.ts'

type Work = { [K in Kind]: (subject: Subject, order: Orders[K]['order']) => Promise<Orders[K]['answer']> }

const WORK: Work = { open: async () => null, laps: runLaps, line: runLine, trips: runTrips }

/** Does what it is told with the subjects that it is told, until nobody tells it anything any more. */
const { store, endpoint } = JSON.parse(process.argv[2] as string) as Assignment
const WARM_UP_MS = 1500
const subjects = new Map<string, Promise<Subject>>()

process.on('message', async <K extends Kind>({ kind, order }: Message<K>) => {
  process.send?.(await WORK[kind](await opened(order.subject), order))
})
process.on('disconnect', async () => {
  for (const subject of subjects.values()) await (await subject).close()
  // The native client keeps a process alive after its end.
  process.exit()
})

function opened(name: string): Promise<Subject> {
  const known = subjects.get(name) ?? open(name)
  subjects.set(name, known)
  return known
}

async function open(name: string): Promise<Subject> {
  const entry = CATALOGUES[store][name]
  if (entry === undefined) throw new Error(`No such subject: ${name}`)
  const subject = await entry.open(endpoint)
  // The first locks make connections and sessions, and run before anything is compiled: no later one does.
  await runLaps(subject, {
    subject: `${name}, first, ${process.pid}`,
    keys: 100,
    width: 100,
    leadMs: 0,
    lastsMs: WARM_UP_MS,
  })
  return subject
}
