import { LOCKING, readArguments, readCount, readDuration, splitCommand } from '../arguments.ts'
import { UsageError } from '../exit.ts'

const DEFAULT_TTL = '10s'
const DEFAULT_WAIT = '10s'
const DEFAULT_GRACE = '10s'
const LONGEST_GRACE_MS = 24 * 3_600_000

/** The parsed options of one `holdfast run`. */
export interface RunPlan {
  readonly key: string
  readonly command: readonly [string, ...string[]]
  readonly store: string | undefined
  readonly ttlMs: number
  readonly waitMs: number
  /** How long the command may take to end after a signal. */
  readonly graceMs: number
  readonly mode:
    | { readonly kind: 'exclusive' | 'shared' }
    | { readonly kind: 'permits'; readonly limit: number }
  readonly quiet: boolean
}

export function planOf(args: readonly string[]): RunPlan {
  const { own, command } = splitCommand(args)
  if (command === null) throw new UsageError('the command is missing: put it after --')
  const { values, positionals } = readArguments(own, { ...LOCKING, grace: { type: 'string' } }, ['KEY'])
  const [file, ...rest] = command
  if (file === undefined || file === '') throw new UsageError('there is no command after --')
  if (values.wait !== undefined && values['no-wait'])
    throw new UsageError('--wait and --no-wait contradict each other')
  if (values.shared && values.limit !== undefined)
    throw new UsageError('--shared and --limit contradict each other')
  return {
    key: positionals[0]!,
    command: [file, ...rest],
    store: values.store,
    ttlMs: readDuration('ttl', values.ttl ?? DEFAULT_TTL),
    waitMs: values['no-wait'] ? 0 : readDuration('wait', values.wait ?? DEFAULT_WAIT, true),
    graceMs: readGrace(values.grace ?? DEFAULT_GRACE),
    mode: modeOf(values.shared === true, values.limit),
    quiet: values.quiet === true,
  }
}

function modeOf(shared: boolean, limit: string | undefined): RunPlan['mode'] {
  if (limit !== undefined) return { kind: 'permits', limit: readCount('limit', limit) }
  return { kind: shared ? 'shared' : 'exclusive' }
}

function readGrace(text: string): number {
  const graceMs = readDuration('grace', text, true)
  if (graceMs > LONGEST_GRACE_MS && graceMs !== Infinity)
    throw new UsageError('--grace must be at most 24h, or forever')
  return graceMs
}
