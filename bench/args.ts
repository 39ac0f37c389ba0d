import { parseArgs } from 'node:util'

/** The command line, read. */
export interface Args {
  readonly names: readonly string[]
  readonly json: boolean
  readonly write: boolean
  readonly tiny: boolean
  readonly quick: boolean
  readonly help: boolean
  readonly only?: readonly string[]
  readonly stores?: readonly string[]
  readonly against?: string
  readonly profile?: string
}

/** `--stores` with no list after it is the comparison of all stores; with one it says which of them grow. */
export function argsOf(argv: readonly string[]): Args {
  const args = argv.map((each, index) =>
    each === '--stores' && (argv[index + 1] ?? '--').startsWith('--') ? 'stores' : each,
  )
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      tiny: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      stores: { type: 'string' },
      against: { type: 'string' },
      profile: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const { only, stores, against, profile, ...flags } = values
  return {
    names: positionals,
    ...flags,
    ...(only !== undefined && { only: only.split(',') }),
    ...(stores !== undefined && { stores: stores.split(',') }),
    ...(against !== undefined && { against }),
    ...(profile !== undefined && { profile }),
  }
}
