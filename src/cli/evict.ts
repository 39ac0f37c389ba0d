import { userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KeyView, Locks } from '../index.ts'
import { DATA, readArguments, readDuration, readToken } from './arguments.ts'
import { type CliCommand, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT, UsageError } from './exit.ts'
import { print } from './output.ts'
import { holdersAndQueue } from './show.ts'
import { LABEL, openLocks, withLocks } from './store.ts'
import { age, jsonText, neutralise, plural } from './text.ts'

type Holder = KeyView['holders'][number]

interface Choice {
  readonly json: boolean
  readonly yes: boolean
  /** The time that a holder has when it is only asked; null if it is evicted. */
  readonly askMs: number | null
}

const ASK_MS = 30_000
const LOOK_EVERY_MS = 200

export const evictCommand: CliCommand = {
  help: {
    usage: 'holdfast evict KEY [--token T] [--ask [--wait 30s]] [--yes] [--json]',
    about: [
      'Evicts the holder of a key, for one that hangs. The next holder gets a higher token, so a resource',
      'that checks tokens refuses later writes of the old holder. Only the holder that was shown is evicted: one that',
      'came in the meantime keeps the key. The eviction is recorded for 30 days: see holdfast show KEY.',
      'With --ask the holder is only asked: its lease gets a `revoked` event, and the program decides.',
    ].join('\n'),
    examples: [
      ['look, then decide', 'holdfast evict order:42'],
      ['exactly this holder, from a script', 'holdfast evict order:42 --token 438205312000 --yes'],
      [
        'ask first, and put it out when it does not let go',
        'holdfast evict order:42 --ask --yes || holdfast evict order:42 --yes',
      ],
    ],
    options: [
      ['--token T', 'evict only the holder with this token, as shown by `holdfast show`'],
      ['--ask', 'only ask the holder to let go, and wait until it did'],
      ['--wait TIME', 'with --ask: how long to wait; 30s by default'],
      ['--yes', 'do not ask you; needed when there is no terminal to ask on'],
      STORE_OPTION,
      JSON_OPTION,
    ],
    exits: [
      ['0', 'evicted; with --ask: the holder let go'],
      ['1', 'nothing was evicted: nobody held it, or you said no'],
      ['75', 'with --ask: the holder still has it'],
    ],
  },
  async run(args) {
    const options = {
      ...DATA,
      token: { type: 'string' },
      ask: { type: 'boolean' },
      wait: { type: 'string' },
      yes: { type: 'boolean', short: 'y' },
    } as const
    const { values, positionals } = readArguments(args, options, ['KEY'])
    const token = values.token === undefined ? null : readToken(values.token)
    if (values.wait !== undefined && !values.ask) throw new UsageError('--wait goes with --ask')
    const waitMs = values.wait === undefined ? ASK_MS : readDuration('wait', values.wait)
    const choice = {
      json: values.json === true,
      yes: values.yes === true,
      askMs: values.ask ? waitMs : null,
    }
    if (!choice.yes && !(process.stdin.isTTY && process.stderr.isTTY)) {
      throw new UsageError('there is no terminal to ask on: say --yes to evict without being asked')
    }
    return await withLocks(openLocks(values.store), (locks) =>
      evictFrom(locks, positionals[0]!, token, choice),
    )
  },
}

async function evictFrom(locks: Locks, key: string, token: bigint | null, choice: Choice): Promise<number> {
  const view = await locks.read(key)
  const targets = view.holders.filter((holder) => token === null || holder.token === token)
  if (targets.length === 0) return report(key, [], choice, whyNothing(view, token))
  if (!choice.yes && !(await confirmed({ ...view, holders: targets }, choice))) {
    return report(key, [], choice, 'left alone')
  }
  const evicted = await evictAll(locks, key, targets, choice)
  if (choice.askMs !== null && evicted.length > 0) return await awaitRelease(locks, key, targets, choice)
  return report(key, evicted, choice, 'nothing was evicted: the holder let go in the meantime')
}

/** Looks again until the asked holders are gone or the time is over. */
async function awaitRelease(
  locks: Locks,
  key: string,
  targets: readonly Holder[],
  { json, askMs }: Choice,
): Promise<number> {
  const beganMs = performance.now()
  for (;;) {
    const { holders } = await locks.read(key)
    const left = holders.filter(({ label, token }) =>
      targets.some((each) => each.label === label && each.token === token),
    )
    const waitedMs = Math.round(performance.now() - beganMs)
    if (left.length > 0 && waitedMs < (askMs ?? 0)) {
      await sleep(LOOK_EVERY_MS)
      continue
    }
    const asked = targets.map(({ label }) => label)
    const still = left.map(({ label }) => label)
    if (json) print(jsonText({ key, asked, still, waitedMs }))
    else if (still.length === 0)
      print(`${neutralise(key)}: ${asked.map(neutralise).join(', ')} let go after ${age(waitedMs)}`)
    else
      print(
        `${neutralise(key)}: ${still.map(neutralise).join(', ')} was asked and still has it after ${age(waitedMs)}`,
      )
    return still.length === 0 ? EXIT.ok : EXIT.busy
  }
}

/** Evicts by the tokens that were shown; a store without tokens can only evict the present holders. */
async function evictAll(
  locks: Locks,
  key: string,
  targets: readonly Holder[],
  { askMs }: Choice,
): Promise<string[]> {
  const tokens = new Set(targets.map((holder) => holder.token))
  const evicted: string[] = []
  const how = { ask: askMs !== null, by: operator() }
  for (const token of tokens)
    evicted.push(...(await locks.evict(key, token === null ? how : { ...how, token })))
  return evicted
}

async function confirmed(view: KeyView, { askMs }: Choice): Promise<boolean> {
  for (const line of holdersAndQueue(view, process.stderr.columns)) process.stderr.write(`${line}\n`)
  const question = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // Ctrl-C at the question means no.
    const stop = new AbortController()
    question.once('SIGINT', () => stop.abort())
    question.once('close', () => stop.abort())
    const verb = askMs === null ? 'Evict' : 'Ask'
    const answer = await question.question(`${verb} ${plural(view.holders.length, 'holder')}? [y/N] `, stop)
    return /^y(es)?$/i.test(answer.trim())
  } catch {
    process.stderr.write('\n')
    return false
  } finally {
    question.close()
  }
}

function whyNothing(view: KeyView, token: bigint | null): string {
  const current = view.holders.map((holder) => holder.token).join(', ')
  if (view.holders.length === 0) return 'nothing to evict: the key is free'
  return `nothing was evicted: token ${token} holds nothing, the current token is ${current}`
}

function report(key: string, labels: readonly string[], { json }: Choice, otherwise: string): number {
  if (json) print(jsonText({ key, evicted: labels }))
  else if (labels.length === 0) print(`${neutralise(key)}: ${otherwise}`)
  else print(`${neutralise(key)}: evicted ${labels.map(neutralise).join(', ')}; the next token is higher`)
  return labels.length === 0 ? EXIT.failed : EXIT.ok
}

/** The user at the terminal, as far as the system tells; a user without a name has none. */
function operator(): string {
  try {
    return `${userInfo().username}@${LABEL}`
  } catch {
    return LABEL
  }
}
