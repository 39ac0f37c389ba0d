import type { Claim } from '../../../src/model/index.ts'
import type { QuorumStore } from '../../../src/stores/quorum/store.ts'
import type { ClientStore } from '../backend.ts'
import type { Host } from '../host.ts'
import type { ProtocolChecker } from '../protocol-checker.ts'
import type { World } from '../world.ts'
import type { RemoteNode } from './remote.ts'

type Call = 'attempt' | 'renew' | 'release'

/** A quorum store whose conversation with the core is watched. */
export function observed(
  store: QuorumStore,
  nodes: readonly RemoteNode[],
  host: Host,
  world: World,
  checker: ProtocolChecker,
  callTimeoutMs: number,
): ClientStore {
  let listeners = 0
  const speak = async <A extends { readonly kind: string }>(
    call: Call,
    claims: readonly Claim[],
    answer: () => Promise<readonly A[]>,
  ): Promise<readonly A[]> => {
    checker.sent(call, claims)
    const { pauses, clock } = host
    const givenUpAtMs = clock.nowMs() + callTimeoutMs
    const answers = await answer()
    if (world.trace !== null) {
      const told = claims.map(({ key, id }, index) => `${key} ${id}: ${answers[index]?.kind}`)
      world.note(host.name, `hears of ${call} ${told.join(', ')}`)
    }
    // The core gives a call up at its own deadline; after a pause the answer and that deadline may come in any order.
    const inTime = clock.nowMs() < givenUpAtMs || host.pauses > pauses
    if (call !== 'release' && inTime) checker.answered(claims)
    return answers
  }
  return {
    traits: store.traits,
    records: null,
    admin: store.admin,
    attempt: (claims) => speak('attempt', claims, () => store.attempt(claims)),
    renew: (claims) => speak('renew', claims, () => store.renew(claims)),
    release: (claims) => speak('release', claims, () => store.release(claims)),
    notices: (listener) => {
      listeners++
      const stop = store.notices((notice) => {
        checker.told(notice)
        listener(notice)
      })
      return () => {
        listeners--
        stop()
      }
    },
    close: () => store.close(),
    get isClosed() {
      return listeners === 0 && nodes.every((node) => node.isClosed)
    },
  }
}
