import { show } from '../../../core/durations.ts'
import { InvalidArgumentError } from '../../../errors.ts'

/** The quoted names of the tables for statements, made of checked words only. */
export interface TableNames {
  readonly keys: string
  readonly claims: string
  readonly records: string
  readonly meta: string
  /** An index belongs to the schema of its table, so its name has none. */
  readonly index: (of: IndexName) => string
}

export type IndexName = 'keys_forget' | 'records_forget' | 'claims_queue' | 'claims_expiry' | 'claims_owner'

const WORD = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/

/** `holdfast` gives `holdfast_keys` and so on; `app.holdfast` the same in the schema `app`. */
export function tableNames(table: string, quote: '"' | '`'): TableNames {
  const words = typeof table === 'string' ? table.split('.') : []
  if (words.length === 0 || words.length > 2 || !words.every((word) => WORD.test(word))) {
    const shape = 'a name of at most 40 letters, digits and _, with or without a schema and a dot before it'
    throw new InvalidArgumentError('table', `must be ${shape}, not ${show(table)}`)
  }
  const last = words.pop() as string
  const schema = words.map((word) => `${quote}${word}${quote}.`).join('')
  const name = (end: string) => `${schema}${quote}${last}_${end}${quote}`
  return {
    keys: name('keys'),
    claims: name('claims'),
    records: name('records'),
    meta: name('meta'),
    index: (of) => `${quote}${last}_${of}${quote}`,
  }
}
