import type { Runtime } from '../../../core/runtime.ts'
import {
  type Blocked,
  type Claim,
  type ClaimAnswer,
  EMPTY,
  type KeyLetter,
  type KeyState,
  SPARE_TOKENS,
  tokenOf,
} from '../../../model/index.ts'
import { ContendedKeys } from '../../shared/contended-keys.ts'
import { CompareAndSwap } from './compare-and-swap.ts'
import type { KeySnapshot, KeyTable, QuickAnswer, ServerDatabase } from './database.ts'
import { KeySerializer } from './key-serializer.ts'
import { canClaimAtOnce, canJoinAtOnce, type LockStep } from './lock-steps.ts'
import { KEYS_PER_STATEMENT } from './rules.ts'

/** A step with its keys at hand, for the serializer. */
interface Entry {
  readonly keys: readonly string[]
  readonly lock: LockStep
}

/** A statement that may serve a step by itself, or the model. The second line serves one claim at a time, on a contended key. */
const ROUTES = [
  ...(['claim', 'renew', 'release'] as const),
  ...(['join', 'renew own', 'release own'] as const),
  'model',
] as const
type Route = (typeof ROUTES)[number]

/** Executes steps: those that one statement can decide go in one statement for all of a tick, the others through the model. */
export class LockExecutor {
  private readonly table: KeyTable
  private readonly reasonOf: ServerDatabase['reasonOf']
  private readonly swap: CompareAndSwap<KeySnapshot, KeyState>
  private readonly contended = new ContendedKeys()
  private readonly serializer = new KeySerializer<Entry>((entries) => this.start(entries))
  private readonly inbox: () => string | null

  constructor(
    { keys, reasonOf }: ServerDatabase,
    runtime: Runtime,
    inbox: () => string | null,
    deliver: (notification: KeyLetter) => void,
  ) {
    this.table = keys
    this.reasonOf = reasonOf
    this.inbox = inbox
    this.swap = new CompareAndSwap(keys, (_, seen) => seen?.state ?? EMPTY, reasonOf, runtime, {
      isOwn: (notification) => notification.inbox === inbox(),
      deliver,
    })
  }

  add(steps: readonly LockStep[]): void {
    this.serializer.add(steps.map((lock) => ({ keys: lock.step.keys, lock })))
  }

  note(claim: Claim, answer: ClaimAnswer): void {
    this.contended.note(claim.key, answer)
  }

  private start(entries: readonly Entry[]): readonly Promise<readonly Entry[]>[] {
    const [first] = entries
    if (first !== undefined && entries.length === 1)
      return this.serveAll(first.keys.length === 1 ? this.firstRoute(first.lock) : 'model', entries)
    const alone = aloneIn(entries)
    const byRoute = new Map<Route, Entry[]>(ROUTES.map((route) => [route, []]))
    for (const entry of entries)
      byRoute.get(alone.has(entry.lock.step) ? this.firstRoute(entry.lock) : 'model')?.push(entry)
    return [...byRoute].flatMap(([route, part]) => this.serveAll(route, part))
  }

  private firstRoute(lock: LockStep): Route {
    const [claim] = lock.claims
    if (claim === undefined || lock.kind === 'evict') return 'model'
    if (lock.kind !== 'claim') return lock.kind
    if (this.contended.has(claim.key)) return routesOnContendedKey(lock)[0] ?? 'model'
    return canClaimAtOnce(claim) ? 'claim' : 'model'
  }

  private serveAll(route: Route, entries: readonly Entry[]): readonly Promise<readonly Entry[]>[] {
    const size = route === 'model' ? entries.length : route === 'join' ? 1 : KEYS_PER_STATEMENT
    const running: Promise<readonly Entry[]>[] = []
    for (let first = 0; first < entries.length; first += size)
      running.push(this.serve(route, entries.slice(first, first + size)))
    return running
  }

  private async serve(route: Route, entries: readonly Entry[]): Promise<readonly Entry[]> {
    let open = await this.ask(route, entries)
    // One claim may have a statement of its own; for many the model needs fewer. Only the model can tell whether a claim that is not
    // exclusive is granted beside others.
    const routesOf = ({ lock }: Entry) =>
      route === 'model' || (route === 'claim' && !isExclusive(lock))
        ? []
        : routesOnContendedKey(lock).filter((other) => other !== route)
    if (entries.length === 1) open = await this.askEach(open, routesOf)
    if (open.length > 0) await this.model(open)
    return entries
  }

  private async model(entries: readonly Entry[]): Promise<void> {
    const steps = entries.map(({ lock }) => lock.step)
    await this.swap.run(steps, async (lost) => {
      const alone = aloneIn(entries)
      const left = await this.askEach(
        lost.flatMap((step) => alone.get(step) ?? []),
        ({ lock }) => routesOnContendedKey(lock),
      )
      const open = new Set<unknown>(left.map(({ lock }) => lock.step))
      return lost.filter((step) => open.has(step) || !alone.has(step))
    })
  }

  /** Tries the statements of each entry one after the other. Resolves to the entries that are not served. */
  private async askEach(
    entries: readonly Entry[],
    routesOf: (entry: Entry) => readonly Route[],
  ): Promise<readonly Entry[]> {
    const left = entries.map(async (entry) => {
      let open: readonly Entry[] = [entry]
      for (const route of routesOf(entry)) if (open.length > 0) open = await this.ask(route, open)
      return open
    })
    return (await Promise.all(left)).flat()
  }

  /** Sends one statement for all entries. Resolves to the entries that are not served. */
  private async ask(route: Route, entries: readonly Entry[]): Promise<readonly Entry[]> {
    let answers: ReadonlyMap<string, QuickAnswer | Blocked>
    try {
      answers = await this.answers(
        route,
        entries.map(({ lock }) => lock.claims[0] as Claim),
      )
    } catch (error) {
      return this.afterFailure(entries, error)
    }
    return entries.filter(({ keys, lock }) => {
      const answer = answers.get(keys[0] as string)
      if (answer !== undefined) answerStep(lock, answer)
      return answer === undefined
    })
  }

  private async answers(
    route: Route,
    claims: readonly Claim[],
  ): Promise<ReadonlyMap<string, QuickAnswer | Blocked>> {
    const { table } = this
    const [claim] = claims as readonly [Claim]
    switch (route) {
      case 'claim':
        return table.claimFree(claims, this.inbox())
      case 'renew':
        return table.renewSole(claims)
      case 'release':
        return table.releaseSole(claims)
      case 'join':
        return byKey(claim, await table.join(claim, this.inbox()))
      case 'renew own':
        return byKey(claim, await table.renewOwn(claim))
      case 'release own':
        return byKey(claim, await table.releaseOwn(claim))
      case 'model':
        return new Map()
    }
  }

  /** Handles a failed statement. Resolves to the entries that take another route. */
  private async afterFailure(entries: readonly Entry[], error: unknown): Promise<readonly Entry[]> {
    const reason = this.reasonOf(error)
    // The statement did nothing, so the next route may be tried, which handles a locked row by itself.
    if (reason !== null && (reason !== 'locked' || entries.length > 1)) return entries
    if (reason === 'locked') await this.blocked(entries, error)
    else for (const { lock } of entries) lock.step.failed(error)
    return []
  }

  /** A plain SELECT does not wait for the lock on the row. */
  private async blocked(entries: readonly Entry[], error: unknown): Promise<void> {
    try {
      const { clock } = await this.table.read(entries.flatMap(({ keys }) => keys))
      for (const { lock } of entries) lock.step.blocked(clock, error)
    } catch {
      for (const { lock } of entries) lock.step.failed(error)
    }
  }
}

function byKey<A>({ key }: Claim, answer: A | null): ReadonlyMap<string, A> {
  return new Map(answer === null ? [] : [[key, answer]])
}

function isExclusive({ claims }: LockStep): boolean {
  return claims[0]?.mode.kind === 'exclusive'
}

/** An exclusive hold lies in the row of its key; a claim that is sent again may hold its key already. */
function routesOnContendedKey(lock: LockStep): readonly Route[] {
  const [claim] = lock.claims
  const hasOwnRow = !isExclusive(lock)
  switch (lock.kind) {
    case 'claim':
      return claim === undefined || !canJoinAtOnce(claim) ? [] : hasOwnRow ? ['join', 'renew own'] : ['join']
    case 'renew':
      return hasOwnRow ? ['renew own'] : []
    case 'release':
      return hasOwnRow ? ['release own'] : []
    case 'evict':
      return []
  }
}

/** The entries with a single key that no other entry has, by their steps. */
function aloneIn(entries: readonly Entry[]): ReadonlyMap<unknown, Entry> {
  const uses = new Map<string, number>()
  for (const { keys } of entries) for (const key of keys) uses.set(key, (uses.get(key) ?? 0) + 1)
  const alone = entries.filter(({ keys }) => keys.length === 1 && uses.get(keys[0] as string) === 1)
  return new Map(alone.map((entry) => [entry.lock.step, entry]))
}

function answerStep({ kind, step, claims }: LockStep, answer: QuickAnswer | Blocked): void {
  if ('kind' in answer) {
    if (kind === 'claim') step.served([answer])
    return
  }
  const { seq, contended } = answer
  if (kind === 'claim') {
    const spare = claims[0]?.owner === null ? SPARE_TOKENS : 0
    step.served([{ kind: 'granted', token: tokenOf(seq), spare, contended }])
  } else if (kind === 'renew') {
    step.served([{ kind: 'renewed', contended }])
  } else if (kind === 'release') {
    step.served([{ kind: 'released' }])
  }
}
