import type {
  Admin,
  Records,
  ReleaseReply,
  RenewReply,
  Soon,
  Store,
  StoreNotice,
} from '../../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../../model/index.ts'
import type { RedisClient } from '../clients/client.ts'
import { releaseAnswers, renewAnswer } from '../codec.ts'
import { Inbox } from '../inbox.ts'
import type { RedisSettings } from '../options.ts'
import { RedisRecords } from '../records.ts'
import { batchesOf, CLAIMS_PER_CALL } from '../rules.ts'
import { Scripting, type ScriptName } from '../scripting.ts'
import { PlainAdmin } from './admin.ts'
import { claimAnswer, claimText, refusalOf, renewText } from './codec.ts'
import { sideName } from './names.ts'
import { PLAIN_TRAITS } from './traits.ts'

/**
 * Locks as many libraries write them: the key itself holds the id, set if absent and with a time to live. Who holds a
 * lock this way and who holds it with another library exclude each other. There is no line: whoever asks first has it.
 */
export class PlainStore implements Store {
  readonly traits = PLAIN_TRAITS
  readonly admin: Admin
  readonly records: Records
  private readonly client: RedisClient
  private readonly scripting: Scripting
  private readonly inbox: Inbox

  constructor(client: RedisClient, { runtime, callTimeoutMs }: RedisSettings) {
    this.client = client
    this.scripting = new Scripting(client)
    this.inbox = new Inbox(client, runtime, callTimeoutMs, (name) => name.slice(client.keyPrefix.length))
    this.admin = new PlainAdmin(this.scripting)
    this.records = new RedisRecords(this.scripting, runtime, { nameOf: (key) => key, held: 'plain' })
  }

  async attempt(claims: readonly Claim[]): Promise<readonly ClaimAnswer[]> {
    const refusals = claims.map(refusalOf)
    const sound = claims.filter((_, index) => refusals[index] === null)
    const { address } = this.inbox
    const answers = await this.call('plainAttempt', sound, (claim) => claimText(claim, address))
    const known = answers.map((raw, index) => {
      const answer = claimAnswer(raw)
      this.inbox.note(sound[index] as Claim, answer)
      return answer
    })
    await this.inbox.beginning
    return refusals.map((refusal) => refusal ?? (known.shift() as ClaimAnswer))
  }

  async renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return (await this.call('plainRenew', claims, renewText)).map(renewAnswer)
  }

  async release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    for (const { id } of claims) this.inbox.forget(id)
    return releaseAnswers(await this.call('plainRelease', claims, ({ id }) => id), claims.length)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.inbox.listen(listener)
  }

  async close(): Promise<void> {
    await this.inbox.close()
    await this.client.close()
  }

  private async call(
    script: ScriptName,
    claims: readonly Claim[],
    textOf: (claim: Claim) => string,
  ): Promise<readonly unknown[]> {
    const parts: Soon<unknown>[] = batchesOf(claims, CLAIMS_PER_CALL).map((part) => {
      const names = part.flatMap(({ key }) => [key, sideName(key)])
      return part.length === 0 ? [] : this.scripting.run(script, names, part.map(textOf))
    })
    return ((await Promise.all(parts)) as (readonly unknown[])[]).flat(1)
  }
}
