import { type ParseArgsConfig, parseArgs } from 'node:util'
import { nearest } from '../core/nearest.ts'
import { UsageError } from './exit.ts'

type Options = NonNullable<ParseArgsConfig['options']>

const STORE = { store: { type: 'string' } } as const
export const DATA = { ...STORE, json: { type: 'boolean' } } as const
export const LOCKING = {
  ...STORE,
  ttl: { type: 'string' },
  wait: { type: 'string' },
  'no-wait': { type: 'boolean' },
  shared: { type: 'boolean' },
  limit: { type: 'string' },
  quiet: { type: 'boolean', short: 'q' },
} as const

/** Options and positional arguments. `names` are those of the positionals; names in brackets are optional. */
export function readArguments<O extends Options>(
  args: readonly string[],
  options: O,
  names: readonly string[],
) {
  const { values, positionals } = parsed(args, options)
  const needed = names.filter((name) => !name.startsWith('['))
  const missing = needed[positionals.length]
  if (missing !== undefined) throw new UsageError(`${missing} is missing`)
  const extra = positionals[names.length]
  if (extra !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(extra)}`)
  return { values, positionals }
}

/** Splits at the first `--`: our arguments, and the command that follows, or null without `--`. */
export function splitCommand(args: readonly string[]): {
  own: readonly string[]
  command: readonly string[] | null
} {
  const at = args.indexOf('--')
  return at === -1 ? { own: args, command: null } : { own: args.slice(0, at), command: args.slice(at + 1) }
}

/** The value of `--store`, for any command; the last one counts. */
export function storesIn(args: readonly string[]): string[] {
  return args.flatMap((word, at) =>
    word.startsWith('--store=') ? [word.slice(8)] : args[at - 1] === '--store' ? [word] : [],
  )
}

/** A duration in milliseconds; `forever` if waiting without end makes sense. A bare number is refused as ambiguous. */
export function readDuration(option: string, text: string, forever = false): number {
  if (forever && text === 'forever') return Number.POSITIVE_INFINITY
  const match = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h)$/.exec(text)
  if (match === null) {
    const examples = forever ? '250ms, 10s, 5m, 1h or forever' : '250ms, 10s, 5m or 1h'
    throw new UsageError(`--${option} ${JSON.stringify(text)} is not a duration such as ${examples}`)
  }
  return Math.round(Number(match[1]) * MILLISECONDS[match[2] as keyof typeof MILLISECONDS])
}

export function readCount(option: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) {
    throw new UsageError(`--${option} ${JSON.stringify(text)} is not a whole number of at least 1`)
  }
  return Number(text)
}

export function readToken(text: string): bigint {
  if (!/^\d{1,19}$/.test(text)) throw new UsageError(`--token ${JSON.stringify(text)} is not a token`)
  return BigInt(text)
}

const MILLISECONDS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

function parsed<O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(explained(error, Object.keys(options)))
  }
}

/** Node's own message on an unknown option is about positionals; a suggestion helps more. */
function explained(error: unknown, names: readonly string[]): string {
  const message = error instanceof Error ? error.message : String(error)
  const unknown = /Unknown option '(-[^']*)'/.exec(message)?.[1]
  if (unknown === undefined) return message.split('\n')[0]!
  const meant = nearest(unknown.replace(/^-+/, ''), names)
  return `there is no option ${unknown}${meant === undefined ? '' : `; did you mean --${meant}?`}`
}
