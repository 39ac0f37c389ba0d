import type {
  Admin,
  ClaimReply,
  Records,
  ReleaseReply,
  RenewReply,
  Soon,
  Store,
  StoreNotice,
  Traits,
  Unknown,
} from '../../core/store.ts'
import type { Claim, ClaimAnswer } from '../../model/index.ts'
import { RedisAdmin } from './admin.ts'
import type { RedisClient } from './clients/client.ts'
import { callBySlot } from './cluster/calls.ts'
import { claimAnswers, claimText, idOf, releaseAnswers, renewAnswers, renewText } from './codec.ts'
import { Inbox } from './inbox.ts'
import { lockName } from './names.ts'
import type { RedisSettings } from './options.ts'
import { RedisRecords } from './records.ts'
import { batchesOf, CLAIMS_PER_CALL, CLAIMS_PER_TURN } from './rules.ts'
import { Scripting, type ScriptName } from './scripting.ts'
import { REDIS_TRAITS } from './traits.ts'

/** The model as scripts: one call for all claims of a tick, one for all renewals, one for all releases. */
export class RedisStore implements Store {
  readonly traits: Traits
  readonly admin: Admin
  readonly records: Records
  readonly partOf?: (key: string) => string
  readonly claimsPerCall = CLAIMS_PER_TURN
  private readonly client: RedisClient
  private readonly scripting: Scripting
  private readonly inbox: Inbox

  constructor(client: RedisClient, { runtime, callTimeoutMs, replicas }: RedisSettings) {
    this.client = client
    this.traits = REDIS_TRAITS[client.topology]
    this.scripting = new Scripting(client)
    this.inbox = new Inbox(client, runtime, callTimeoutMs)
    this.admin = new RedisAdmin(this.scripting, runtime, replicas?.wait ?? 0)
    this.records = new RedisRecords(this.scripting, runtime)
    const { cluster } = client
    // Not by server: one slot alone can hang while it moves to a server that is frozen.
    if (cluster !== null) this.partOf = (key) => String(cluster.slotOf(lockName(key)))
  }

  attempt(claims: readonly Claim[]): Promise<readonly ClaimReply[]> {
    return this.call('attempt', claims, this.claimText, this.noted)
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    return this.call('renew', claims, renewText, renewAnswers)
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    this.inbox.forgetAll(claims)
    return this.call('release', claims, idOf, releaseAnswers)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.inbox.listen(listener)
  }

  async close(): Promise<void> {
    await this.inbox.close()
    await this.client.close()
  }

  private readonly claimText = (claim: Claim): string => claimText(claim, this.inbox.address)

  /** The first answers are held back until the inbox listens: holders and waiters rely on it. */
  private readonly noted = (
    answer: unknown,
    count: number,
    claims: readonly Claim[],
  ): Soon<readonly ClaimReply[]> => {
    const answers = claimAnswers(answer)
    for (let index = 0; index < count; index++)
      this.inbox.note(claims[index] as Claim, answers[index] as ClaimReply)
    const { beginning } = this.inbox
    return beginning === null ? answers : beginning.then(() => answers)
  }

  private call<A extends ClaimReply | RenewReply | ReleaseReply>(
    script: ScriptName,
    claims: readonly Claim[],
    textOf: (claim: Claim) => string,
    parse: (answer: unknown, count: number, claims: readonly Claim[]) => Soon<readonly A[]>,
  ): Promise<readonly (A | Unknown)[]> {
    const { cluster } = this.client
    const send = (part: readonly Claim[]): Promise<readonly A[]> =>
      this.scripting.run(script, part.map(nameOf), part.map(textOf), (answer) =>
        parse(answer, part.length, part),
      )
    if (claims.length === 0) return Promise.resolve([])
    if (cluster !== null && claims.length > 1) return callBySlot(cluster, claims, send, apart as () => A)
    if (claims.length <= CLAIMS_PER_CALL) return send(claims)
    return Promise.all(batchesOf(claims, CLAIMS_PER_CALL).map(send)).then((answers) => answers.flat())
  }
}

/** Only attempts have groups, so only they are refused like this. */
const apart = (): ClaimAnswer => ({
  kind: 'refused',
  reason: 'group',
  message:
    'the keys are in different slots of the cluster: only keys with a common hash tag can be had in one step',
})

const nameOf = ({ key }: Claim): string => lockName(key)
