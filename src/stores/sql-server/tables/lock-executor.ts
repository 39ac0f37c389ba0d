import type { Runtime } from '../../../core/runtime.ts'
import {
  type Blocked,
  type Claim,
  type ClaimAnswer,
  EMPTY,
  type KeyNotification,
  type KeyState,
  SPARE_TOKENS,
  tokenOf,
} from '../../../model/index.ts'
import { ContendedKeys } from '../../shared/contended-keys.ts'
import { CompareAndSwap } from './compare-and-swap.ts'
import type { KeySnapshot, KeyTable, QuickAnswer, ServerDatabase } from './database.ts'
import { KEYS_PER_STATEMENT } from './database.ts'
import { KeySerializer } from './key-serializer.ts'
import { canClaimAtOnce, canJoinAtOnce, type LockStep } from './lock-steps.ts'

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
  private readonly serializer = new KeySerializer<LockStep>((steps) => this.start(steps))
  private readonly inbox: () => string | null

  constructor(
    { keys, reasonOf }: ServerDatabase,
    runtime: Runtime,
    inbox: () => string | null,
    deliver: (notification: KeyNotification) => void,
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
    this.serializer.add(steps)
  }

  note(claim: Claim, answer: ClaimAnswer): void {
    this.contended.note(claim.key, answer)
  }

  private start(steps: readonly LockStep[]): readonly Promise<readonly LockStep[]>[] {
    const [first] = steps
    if (first !== undefined && steps.length === 1)
      return this.serveAll(first.keys.length === 1 ? this.firstRoute(first) : 'model', steps)
    const alone = aloneIn(steps)
    const byRoute = new Map<Route, LockStep[]>(ROUTES.map((route) => [route, []]))
    for (const step of steps) byRoute.get(alone.has(step) ? this.firstRoute(step) : 'model')?.push(step)
    return [...byRoute].flatMap(([route, part]) => this.serveAll(route, part))
  }

  private firstRoute(step: LockStep): Route {
    const [claim] = step.claims
    if (claim === undefined || step.kind === 'evict') return 'model'
    if (step.kind !== 'claim') return step.kind
    if (this.contended.has(claim.key)) return routesOnContendedKey(step)[0] ?? 'model'
    return canClaimAtOnce(claim) ? 'claim' : 'model'
  }

  private serveAll(route: Route, steps: readonly LockStep[]): readonly Promise<readonly LockStep[]>[] {
    const size = route === 'model' ? steps.length : route === 'join' ? 1 : KEYS_PER_STATEMENT
    const running: Promise<readonly LockStep[]>[] = []
    for (let first = 0; first < steps.length; first += size)
      running.push(this.serve(route, steps.slice(first, first + size)))
    return running
  }

  private async serve(route: Route, steps: readonly LockStep[]): Promise<readonly LockStep[]> {
    let open = await this.ask(route, steps)
    // One claim may have a statement of its own; for many the model needs fewer. Only the model can tell whether a claim that is not
    // exclusive is granted beside others.
    const routesOf = (step: LockStep) =>
      route === 'model' || (route === 'claim' && !isExclusive(step))
        ? []
        : routesOnContendedKey(step).filter((other) => other !== route)
    if (steps.length === 1) open = await this.askEach(open, routesOf)
    if (open.length > 0) await this.model(open)
    return steps
  }

  private async model(steps: readonly LockStep[]): Promise<void> {
    await this.swap.run(steps, async (lost) => {
      const alone = aloneIn(steps)
      const again = new Set<unknown>(lost)
      const left = await this.askEach(
        steps.filter((step) => alone.has(step) && again.has(step)),
        routesOnContendedKey,
      )
      const open = new Set<unknown>(left)
      return lost.filter((step) => open.has(step) || !alone.has(step))
    })
  }

  /** Tries the statements of each step one after the other. Resolves to the steps that are not served. */
  private async askEach(
    steps: readonly LockStep[],
    routesOf: (step: LockStep) => readonly Route[],
  ): Promise<readonly LockStep[]> {
    const left = steps.map(async (step) => {
      let open: readonly LockStep[] = [step]
      for (const route of routesOf(step)) if (open.length > 0) open = await this.ask(route, open)
      return open
    })
    return (await Promise.all(left)).flat()
  }

  /** Sends one statement for all steps. Resolves to the steps that are not served. */
  private async ask(route: Route, steps: readonly LockStep[]): Promise<readonly LockStep[]> {
    let answers: ReadonlyMap<string, QuickAnswer | Blocked>
    try {
      answers = await this.answers(
        route,
        steps.map(({ claims }) => claims[0] as Claim),
      )
    } catch (error) {
      return this.afterFailure(steps, error)
    }
    return steps.filter((step) => {
      const answer = answers.get(step.keys[0] as string)
      if (answer !== undefined) answerStep(step, answer)
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

  /** Handles a failed statement. Resolves to the steps that take another route. */
  private async afterFailure(steps: readonly LockStep[], error: unknown): Promise<readonly LockStep[]> {
    const reason = this.reasonOf(error)
    // The statement did nothing, so the next route may be tried, which handles a locked row by itself.
    if (reason !== null && (reason !== 'locked' || steps.length > 1)) return steps
    if (reason === 'locked') await this.blocked(steps, error)
    else for (const step of steps) step.failed(error)
    return []
  }

  /** A plain SELECT does not wait for the lock on the row. */
  private async blocked(steps: readonly LockStep[], error: unknown): Promise<void> {
    try {
      const { clock } = await this.table.read(steps.flatMap(({ keys }) => keys))
      for (const step of steps) step.blocked(clock, error)
    } catch {
      for (const step of steps) step.failed(error)
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
function routesOnContendedKey(step: LockStep): readonly Route[] {
  const [claim] = step.claims
  const hasOwnRow = !isExclusive(step)
  switch (step.kind) {
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

/** The steps with a single key that no other step has. */
function aloneIn(steps: readonly LockStep[]): ReadonlySet<unknown> {
  const uses = new Map<string, number>()
  for (const { keys } of steps) for (const key of keys) uses.set(key, (uses.get(key) ?? 0) + 1)
  return new Set(steps.filter(({ keys }) => keys.length === 1 && uses.get(keys[0] as string) === 1))
}

function answerStep(step: LockStep, answer: QuickAnswer | Blocked): void {
  if ('kind' in answer) {
    if (step.kind === 'claim') step.served([answer])
    return
  }
  const { seq, contended } = answer
  if (step.kind === 'claim') {
    const spare = step.claims[0]?.owner === null ? SPARE_TOKENS : 0
    step.served([{ kind: 'granted', token: tokenOf(seq), spare, contended }])
  } else if (step.kind === 'renew') {
    step.served([{ kind: 'renewed', contended }])
  } else if (step.kind === 'release') {
    step.served([{ kind: 'released' }])
  }
}
