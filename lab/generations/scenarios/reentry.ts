import { connect } from '../../../src/index.ts'
import type { Table } from '../figures.ts'
import { handMade } from '../locks/index.ts'
import { claim, type Scenario } from '../scenario.ts'
import { WireConnection } from '../wire/connection.ts'

const TTL_MS = 5_000
const WAIT_MS = 200

/** A function that has the lock calls another one that needs it too. */
export const REENTRY: Scenario = {
  name: 'reentry',
  group: 'reentry',
  title: 'Asking again for a lock that one has',
  about:
    'A function takes the lock and calls another one that takes it as well. V4 compares ids, and every acquire has a new one; Holdfast can be told who the owner is.',
  async run({ place }) {
    const { url, fencedUrl } = place.address
    const connection = await WireConnection.open(url)
    const locks = await connect(fencedUrl)
    try {
      const lock = handMade('fourth', connection)
      const key = place.keyFor('reentry')
      const outer = await lock.acquire(key, TTL_MS, WAIT_MS)
      const inner = await lock.acquire(key, TTL_MS, WAIT_MS)
      await inner?.held.release()
      await outer?.held.release()
      const freed = (await connection.call('GET', key)) === null

      const options = { owner: 'order-42', ttl: TTL_MS, wait: WAIT_MS }
      const first = await locks.acquire(key, options)
      const second = await locks.acquire(key, options)
      await second.release()
      const heldBetween = (await locks.read(key)).holders.length > 0
      await first.release()
      const heldAfter = (await locks.read(key)).holders.length > 0

      const figure: Table = {
        kind: 'table',
        title: 'The same function asks twice',
        columns: ['', 'first', 'second', 'after the inner release', 'after the outer release'],
        rows: [
          ['V4', 'has it', inner === null ? 'waits for itself' : 'has it', '', freed ? 'free' : 'still held'],
          [
            'Holdfast, with an owner',
            'has it',
            'has it',
            heldBetween ? 'still held' : 'free',
            heldAfter ? 'still held' : 'free',
          ],
        ],
      }
      return {
        figures: [figure],
        claims: [
          claim(
            outer !== null && inner === null,
            'V4 waited for itself, and would have done so for as long as it renews',
          ),
          claim(first.token === second.token, 'Holdfast let the owner in again, with the same token'),
          claim(heldBetween && !heldAfter, 'and the lock was free only when both had given it back'),
        ],
        verdict: 'A lock that counts the holds of one owner lets functions that need it call each other.',
        data: {},
      }
    } finally {
      await locks.close()
      connection.close()
    }
  },
}
