import { createInterface } from 'node:readline/promises'
import type { KeyView, Locks } from '../index.ts'
import { DATA, readArguments, readToken } from './arguments.ts'
import { type Command, JSON_OPTION, STORE_OPTION } from './command.ts'
import { EXIT, UsageError } from './exit.ts'
import { print } from './output.ts'
import { holderTable } from './show.ts'
import { openLocks, withLocks } from './store.ts'
import { jsonText, neutralise, plural } from './text.ts'

type Holder = KeyView['holders'][number]

interface Choice {
  readonly json: boolean
  readonly yes: boolean
}

export const evict: Command = {
  help: {
    usage: 'holdfast evict KEY [--token T] [--yes] [--json]',
    about: [
      'Takes the key away from its holder, for one that hangs. The next holder gets a higher token, so a resource',
      'that checks tokens refuses what the old holder still writes. Only what was shown is evicted: a holder that',
      'came in the meantime keeps the key.',
    ].join('\n'),
    examples: [
      ['look, then decide', 'holdfast evict order:42'],
      ['exactly this holder, from a script', 'holdfast evict order:42 --token 438205312000 --yes'],
    ],
    options: [
      ['--token T', 'evict only the holder with this token, as shown by `holdfast show`'],
      ['--yes', 'do not ask; needed when there is no terminal to ask on'],
      STORE_OPTION,
      JSON_OPTION,
    ],
    exits: [
      ['0', 'evicted'],
      ['1', 'nothing was evicted'],
    ],
  },
  async run(args) {
    const options = { ...DATA, token: { type: 'string' }, yes: { type: 'boolean', short: 'y' } } as const
    const { values, positionals } = readArguments(args, options, ['KEY'])
    const token = values.token === undefined ? null : readToken(values.token)
    const choice = { json: values.json === true, yes: values.yes === true }
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
  if (!choice.yes && !(await confirmed({ ...view, holders: targets }))) {
    return report(key, [], choice, 'left alone')
  }
  const evicted = await evictAll(locks, key, targets)
  return report(key, evicted, choice, 'nothing was evicted: the holder let go in the meantime')
}

/** By the tokens that were shown; a store without tokens can only evict whoever holds. */
async function evictAll(locks: Locks, key: string, targets: readonly Holder[]): Promise<string[]> {
  const tokens = new Set(targets.map((holder) => holder.token))
  const evicted: string[] = []
  for (const token of tokens) evicted.push(...(await locks.evict(key, token === null ? {} : { token })))
  return evicted
}

async function confirmed(view: KeyView): Promise<boolean> {
  for (const line of holderTable(view, process.stderr.columns)) process.stderr.write(`${line}\n`)
  const question = createInterface({ input: process.stdin, output: process.stderr })
  try {
    // Ctrl-C at the question is a no.
    const stop = new AbortController()
    question.once('SIGINT', () => stop.abort())
    question.once('close', () => stop.abort())
    const answer = await question.question(`Evict ${plural(view.holders.length, 'holder')}? [y/N] `, stop)
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
