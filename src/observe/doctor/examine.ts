import type { Fact, UnseenFact } from '../../core/facts.ts'
import type { Settings } from '../../core/options.ts'
import type { Admin, Records, Traits } from '../../core/store.ts'
import type { KeyView } from '../../model/index.ts'
import { type DoctorContext, type Glimpse, glimpseOf } from './context.ts'
import { type DoctorCycles, examineCycles } from './cycles.ts'
import { bySeverity, type Finding, type Severity, worstOf } from './findings.ts'
import { readHabits, usualBy, usuals } from './habits.ts'
import { examineHolders, examineTimes } from './holders.ts'
import { examineLine } from './lines.ts'
import { type DoctorOptions, type DoctorSettings, doctorSettings } from './options.ts'
import { stoppedPid, whyGone } from './processes.ts'
import { examineServer, futureToken } from './server.ts'
import { UnseenClaims } from './unseen.ts'

/** The input of the doctor. */
export interface DoctorInput {
  readonly admin: Admin
  readonly records: Records | null
  readonly traits: Traits
  readonly settings: Settings
  cycles(): Promise<DoctorCycles>
}

/** The findings, the worst first, and the parts that were not inspected. */
export interface Diagnosis {
  readonly findings: readonly Finding[]
  /** The highest severity, null without findings. */
  readonly severity: Severity | null
  /** The number of keys in use that were examined. */
  readonly keys: number
  readonly watchedMs: number
  readonly unseen: readonly { readonly what: string; readonly why: string }[]
}

/** Further findings about single keys are only counted. */
const MOST_FINDINGS = 500

/** Looks, inspects the server, waits a little, looks again, and judges; meanwhile it detects deadlocks. */
export async function examine(input: DoctorInput, options: DoctorOptions): Promise<Diagnosis> {
  const settings = doctorSettings(options)
  const [cycles, rest] = await Promise.all([input.cycles(), examineAll(input, settings)])
  const deadlocks = examineCycles(cycles, input.settings.prefix + settings.prefix)
  // The deadlock explains why the queue of such a key does not move.
  const explained = new Set(cycles.proven.flat().map(({ waitsFor }) => waitsFor))
  const others = rest.findings.filter(
    ({ code, key }) => code !== 'LINE_STUCK' || key === null || !explained.has(key),
  )
  const findings = bySeverity([...deadlocks, ...others])
  return { ...rest, findings, severity: worstOf(findings) }
}

async function examineAll(
  input: DoctorInput,
  settings: DoctorSettings,
): Promise<Omit<Diagnosis, 'severity'>> {
  const { admin } = input
  const { runtime, prefix, maxTtlMs } = input.settings
  const beganMs = runtime.nowMs()
  const glimpses = new Map<string, Glimpse & { readonly seenAtMs: number }>()
  for await (const view of admin.list(prefix + settings.prefix))
    glimpses.set(view.key, { ...glimpseOf(view), seenAtMs: runtime.nowMs() })
  const facts = await factsOf(input, settings)
  const known = input.records === null ? [] : usuals(await readHabits(input.records))
  const leftMs = settings.watchMs - (runtime.nowMs() - beganMs)
  if (leftMs > 0) await new Promise<void>((resolve) => runtime.setTimer(resolve, leftMs, false))
  const deaf = new Set(
    facts.flatMap((fact) => (fact.kind === 'deaf' ? [`${fact.role} ${fact.key} ${fact.label}`] : [])),
  )
  const context: Omit<DoctorContext, 'elapsedMs'> = {
    settings,
    maxTtlMs,
    wallMs: runtime.wallMs(),
    usualOf: usualBy(known),
    whyGone,
    stoppedPid,
    isDeaf: (role, key, label) => deaf.has(`${role} ${key} ${label}`),
  }
  const findings = [
    ...examineServer(facts, settings.foreign),
    ...examineTimes(known, prefix + settings.prefix),
  ]
  let keys = 0
  const claims = new UnseenClaims(input.traits)
  for await (const view of admin.list(prefix + settings.prefix)) {
    keys++
    claims.add(view)
    if (findings.length >= MOST_FINDINGS) continue
    // A list may take long, so each key has its own time between the looks.
    const before = glimpses.get(view.key)
    const elapsedMs = runtime.nowMs() - (before?.seenAtMs ?? beganMs)
    findings.push(...examineKey(view, before, { ...context, elapsedMs }))
  }
  const unseen = facts.filter((fact): fact is UnseenFact => fact.kind === 'unseen')
  unseen.push(...claims.facts())
  if (known.length === 0) unseen.push(NO_HABITS)
  return {
    findings,
    keys,
    watchedMs: Math.round(runtime.nowMs() - beganMs),
    unseen: unseen.map(({ what, why }) => ({ what, why })),
  }
}

const NO_HABITS: UnseenFact = {
  kind: 'unseen',
  what: 'what is usual',
  why: 'no process publishes how long it holds keys (option `habits`); `usual` says it instead',
}

/** All findings about one key; pure. */
export function examineKey(view: KeyView, before: Glimpse | undefined, context: DoctorContext): Finding[] {
  const holders = examineHolders(view, before, context)
  // The holder's finding explains why the queue does not move.
  const idle = holders.some(({ code }) => code === 'HOLDER_GONE' || code === 'HOLDER_STOPPED')
  const line = examineLine(view, before, context).filter(({ code }) => !(idle && code === 'LINE_STUCK'))
  return [...holders, ...line, ...futureToken(view, context.wallMs)]
}

async function factsOf({ admin, traits }: DoctorInput, settings: DoctorSettings): Promise<Fact[]> {
  const facts: Fact[] = []
  if (admin.inspect === undefined) {
    const why = `the ${traits.name} store does not tell`
    return [{ kind: 'unseen', what: 'the server, its clock, foreign locks, orphans', why }]
  }
  const { foreign, deadForMs } = settings
  for await (const fact of admin.inspect({ foreign, deadForMs, values: false })) facts.push(fact)
  return facts
}
