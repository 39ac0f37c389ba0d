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
import { batchesOf } from './batches.ts'
import type { ClusterRoutes, Kept, RedisClient } from './clients/client.ts'
import { callBySlot } from './cluster/calls.ts'
import { claimAnswers, claimText, idOf, releaseAnswers, renewAnswers, renewText } from './codec.ts'
import { Inbox } from './inbox.ts'
import { lockName } from './names.ts'
import type { RedisSettings } from './options.ts'
import { RedisRecords } from './records.ts'
import { CLAIMS_PER_CALL, CLAIMS_PER_TURN } from './rules.ts'
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
  /** Renewals as they were sent: as long as no lease comes or goes, the same list of claims comes again. */
  private readonly renewals = new WeakMap<readonly Claim[], Kept>()

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
    return this.call('attempt', claims, this.texts, this.noted)
  }

  renew(claims: readonly Claim[]): Promise<readonly RenewReply[]> {
    if (this.client.cluster !== null || claims.length > CLAIMS_PER_CALL || claims.length === 0)
      return this.call('renew', claims, renewTexts, renewAnswers)
    let kept = this.renewals.get(claims)
    if (kept === undefined) {
      kept = this.scripting.keep('renew', claims.map(nameOf), renewTexts(claims))
      this.renewals.set(claims, kept)
    }
    return this.scripting.callKept('renew', kept, (answer) => renewAnswers(answer, claims.length))
  }

  release(claims: readonly Claim[]): Promise<readonly ReleaseReply[]> {
    this.inbox.forgetAll(claims)
    return this.call('release', claims, idsOf, releaseAnswers)
  }

  notices(listener: (notice: StoreNotice) => void): () => void {
    return this.inbox.listen(listener)
  }

  async close(): Promise<void> {
    await this.inbox.close()
    await this.client.close()
  }

  private readonly texts = (claims: readonly Claim[]): string[] =>
    claims.map((claim) => claimText(claim, this.inbox.address))

  /** What the answers mean. The first ones are held back until the inbox listens: holders and waiters rely on it. */
  private readonly noted = (
    answer: unknown,
    count: number,
    claims: readonly Claim[],
  ): Soon<readonly ClaimReply[]> => {
    const known = claimAnswers(answer)
    for (let index = 0; index < count; index++)
      this.inbox.note(claims[index] as Claim, known[index] as ClaimReply)
    const { beginning } = this.inbox
    return beginning === null ? known : beginning.then(() => known)
  }

  private call<A extends ClaimReply | RenewReply | ReleaseReply>(
    script: ScriptName,
    claims: readonly Claim[],
    textsOf: (claims: readonly Claim[]) => readonly string[],
    meaning: Meaning<A>,
  ): Promise<readonly (A | Unknown)[]> {
    if (claims.length === 0) return Promise.resolve([])
    const { cluster } = this.client
    if (cluster !== null && claims.length > 1)
      return this.callCluster(cluster, script, claims, textsOf, meaning)
    if (claims.length <= CLAIMS_PER_CALL) return this.callOnce(script, claims, textsOf, meaning)
    const parts = batchesOf(claims, CLAIMS_PER_CALL).map((part) =>
      this.callOnce(script, part, textsOf, meaning),
    )
    return Promise.all(parts).then((answers) => answers.flat())
  }

  private callCluster<A extends ClaimReply | RenewReply | ReleaseReply>(
    routes: ClusterRoutes,
    script: ScriptName,
    claims: readonly Claim[],
    textsOf: (claims: readonly Claim[]) => readonly string[],
    meaning: Meaning<A>,
  ): Promise<readonly (A | Unknown)[]> {
    const send = (part: readonly Claim[]) => this.callOnce(script, part, textsOf, meaning)
    return callBySlot(routes, claims, send, apart as () => A)
  }

  private callOnce<A>(
    script: ScriptName,
    claims: readonly Claim[],
    textsOf: (claims: readonly Claim[]) => readonly string[],
    meaning: Meaning<A>,
  ): Promise<readonly A[]> {
    const texts = textsOf(claims)
    const known = (answer: unknown): Soon<readonly A[]> => meaning(answer, claims.length, claims)
    const answers =
      claims.length === 1
        ? this.scripting.callOne(script, nameOf(claims[0] as Claim), texts[0] as string, known)
        : this.scripting.call(script, claims.map(nameOf), texts, known)
    return answers as Promise<readonly A[]>
  }
}

type Meaning<A> = (answer: unknown, count: number, claims: readonly Claim[]) => Soon<readonly A[]>

/** Only claims of a group are refused so, and only attempts have groups. */
const apart = (): ClaimAnswer => ({
  kind: 'refused',
  reason: 'group',
  message:
    'the keys are in different slots of the cluster: only keys with a common hash tag can be had in one step',
})

const nameOf = ({ key }: Claim): string => lockName(key)
const idsOf = (claims: readonly Claim[]): string[] => claims.map(idOf)
const renewTexts = (claims: readonly Claim[]): string[] => claims.map(renewText)
