import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Store,
  StoreNotice,
} from '../../../core/store.ts'
import type { Claim } from '../../../model/index.ts'
import type { RedisClient } from '../clients/client.ts'
import { claimText, idOf, releaseAnswers, renewAnswers, renewText } from '../codec.ts'
import { Inbox } from '../inbox.ts'
import type { RedisSettings } from '../options.ts'
import { RedisRecords } from '../records.ts'
import { CLAIMS_PER_TURN } from '../rules.ts'
import { parts } from '../scan.ts'
import { Scripting, type ScriptName } from '../scripting.ts'
import { PlainAdmin } from './admin.ts'
import { plainClaimAnswers, plainRefusalOf } from './codec.ts'
import { stateName } from './names.ts'
import { PLAIN_TRAITS } from './traits.ts'

/**
 * Locks as many libraries write them: the key itself holds the id, set if absent and with a time to live, so that holders of Holdfast and of
 * other libraries exclude each other. Claims of Holdfast have a queue, whose first one is told when the key is free; another library may
 * still be faster.
 */
export class PlainStore implements Store {
  readonly traits = PLAIN_TRAITS
  readonly admin: Admin
  readonly records: Records
  readonly claimsPerCall = CLAIMS_PER_TURN
  private readonly client: RedisClient
  private readonly scripting: Scripting
  private readonly inbox: Inbox
  /** Claims of attempts that are under way, and whether their turn came meanwhile: it can overtake an older answer, on another connection. */
  private readonly asking = new Map<string, boolean>()

  constructor(client: RedisClient, { runtime, callTimeoutMs }: RedisSettings) {
    this.client = client
    this.scripting = new Scripting(client)
    this.inbox = new Inbox(client, runtime, callTimeoutMs, (name) => name.slice(client.keyPrefix.length))
    this.admin = new PlainAdmin(this.scripting)
    this.records = new RedisRecords(this.scripting, runtime, { nameOf: (key) => key, held: 'plain' })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    const refusals = claims.map(plainRefusalOf)
    const sound = claims.filter((_, index) => refusals[index] === null)
    for (const { id } of sound) this.asking.set(id, false)
    try {
      const textOf = (claim: Claim): string => claimText(claim, this.inbox.address)
      const answers = await this.call('plainAttempt', sound, textOf, plainClaimAnswers)
      for (const [index, answer] of answers.entries()) this.inbox.note(sound[index] as Claim, answer)
      await this.inbox.beginning
      const known = answers.map((answer, index) => this.current(sound[index] as Claim, answer)).values()
      return refusals.map((refusal) => refusal ?? (known.next().value as ClaimReply))
    } finally {
      for (const { id } of sound) this.asking.delete(id)
    }
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return this.call('plainRenew', claims, renewText, renewAnswers)
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    this.inbox.forgetAll(claims)
    return this.call('plainRelease', claims, idOf, releaseAnswers)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.inbox.listen((notice) => {
      if (notice.kind === 'retry' && this.asking.has(notice.id)) this.asking.set(notice.id, true)
      listener(notice)
    })
  }

  async close(): Promise<void> {
    await this.inbox.close()
    await this.client.close()
  }

  /** A claim whose turn has come since it was blocked attempts again at once. */
  private current({ id }: Claim, answer: ClaimReply): ClaimReply {
    if (answer.kind !== 'blocked' || this.asking.get(id) !== true) return answer
    return { ...answer, position: 1, retryAfterMs: 1 }
  }

  private async call<A>(
    script: ScriptName,
    claims: readonly Claim[],
    textOf: (claim: Claim) => string,
    meaning: (answer: unknown, count: number) => readonly A[],
  ): Promise<readonly A[]> {
    const calls = parts(claims, CLAIMS_PER_TURN).map((part) => {
      const names = part.flatMap(({ key }) => [key, stateName(key)])
      return this.scripting.run(script, names, part.map(textOf), (answer) => meaning(answer, part.length))
    })
    return (await Promise.all(calls)).flat()
  }
}
