import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'holdfast'
import type { PayOrder } from '../support/messages.ts'

/** Handles the deliveries of one payment callback, all at once, and tells what each of them answers. */
const { url, deliveries, effects, name } = JSON.parse(process.argv[2] as string) as PayOrder

const locks = await connect(url)
const deliver = async (): Promise<void> => {
  const receipt = await locks.once('payment 7', { lease: '1s', wait: '30s' }, async () => {
    process.stdout.write('begun\n')
    await sleep(400)
    appendFileSync(effects, `charged by ${name}\n`)
    return `receipt of ${name}`
  })
  process.stdout.write(`${receipt}\n`)
}
await Promise.all(Array.from({ length: deliveries }, deliver))
await locks.close()
