import type { Store } from 'holdfast'
import { conformanceCases } from 'holdfast/testing'
import { expect, it } from 'vitest'

const CASE = 'renewal and release survive what servers go through'
/** How long a client may take to find who serves now. */
const FOUND_AGAIN_MS = 10_000

/** The case of the conformance suite that is about a change among the servers, with the change while a lease is held. */
export function conformsThroughout(
  what: string,
  open: () => Promise<{ store: Store }>,
  change: () => Promise<void>,
): void {
  it(`conforms throughout ${what}`, async (context) => {
    const stores = new Set<Store>()
    let changes = 0
    const disturb = async () => {
      if (changes++ > 0) return
      await change()
      for (const store of stores)
        await expect
          .poll(() => isServed(store), {
            timeout: FOUND_AGAIN_MS,
            message: 'the store must find the new master',
          })
          .toBe(true)
    }
    const opened = async () => {
      const { store } = await open()
      stores.add(store)
      const close = store.close.bind(store)
      store.close = () => {
        stores.delete(store)
        return close()
      }
      return store
    }
    const cases = conformanceCases({ name: what, open: opened, faults: { disturb } })
    await cases.find(({ name }) => name === CASE)?.run(context)
    expect(changes).toBe(3)
  })
}

async function isServed({ records }: Store): Promise<boolean> {
  try {
    await Promise.all(
      ['a', 'b', 'c'].map((key) => records?.write(`found:${key}`, 'again', 60_000, { kind: 'always' })),
    )
    return true
  } catch {
    return false
  }
}
