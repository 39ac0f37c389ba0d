import { LOCKING, readArguments, readCount, readDuration, splitCommand } from '../arguments.ts'
import { UsageError } from '../exit.ts'

const DEFAULT_TTL = '10s'
const DEFAULT_WAIT = '10s'

/** What one `holdfast run` is to do. */
export interface Plan {
  readonly key: string
  readonly command: readonly [string, ...string[]]
  readonly store: string | undefined
  readonly ttlMs: number
  readonly waitMs: number
  readonly mode:
    | { readonly kind: 'exclusive' | 'shared' }
    | { readonly kind: 'permits'; readonly limit: number }
  readonly quiet: boolean
}

export function planOf(args: readonly string[]): Plan {
  const { own, command } = splitCommand(args)
  if (command === null) throw new UsageError('the command is missing: put it after --')
  const { values, positionals } = readArguments(own, LOCKING, ['KEY'])
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
    mode: modeOf(values.shared === true, values.limit),
    quiet: values.quiet === true,
  }
}

function modeOf(shared: boolean, limit: string | undefined): Plan['mode'] {
  if (limit !== undefined) return { kind: 'permits', limit: readCount('limit', limit) }
  return { kind: shared ? 'shared' : 'exclusive' }
}
