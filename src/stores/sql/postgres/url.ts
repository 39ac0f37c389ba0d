import { InvalidArgumentError } from '../../../errors.ts'
import type { PostgresOptions } from './index.ts'

export interface Location {
  /** What is left for the client library to understand. */
  readonly database: string
  /** Where to listen: null for the same place, false for nowhere. */
  readonly listen: string | false | null
  readonly options: Pick<PostgresOptions, 'table' | 'durability' | 'advisory'>
}

const SHAPE = 'must be like postgres://user:password@host:5432/database'

/** `table`, `durability`, `listen` and `advisory` of the query are ours: everything else is the client's. */
export function locationOf(url: string): Location {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw new InvalidArgumentError('url', SHAPE)
  }
  if (parts.hostname === '') throw new InvalidArgumentError('url', 'names no host')
  const take = (name: string): string | null => {
    const value = parts.searchParams.get(name)
    parts.searchParams.delete(name)
    return value
  }
  const [table, durability, listen] = [take('table'), take('durability'), take('listen')]
  const advisory = take('advisory')
  if (advisory !== null && advisory !== 'true' && advisory !== 'false')
    throw new InvalidArgumentError('url', 'must give as advisory true or false')
  if (advisory === 'true' && listen !== null)
    throw new InvalidArgumentError('url', 'gives listen, which means nothing for advisory locks')
  if (listen !== null && listen !== 'false' && !/^postgres(ql)?:\/\//.test(listen))
    throw new InvalidArgumentError('url', 'must give as listen a URL that goes past the pooler, or false')
  return {
    database: parts.href,
    listen: listen === 'false' ? false : listen,
    options: {
      ...(table === null ? {} : { table }),
      ...(durability === null ? {} : { durability: durability as 'full' | 'relaxed' }),
      ...(advisory === null ? {} : { advisory: advisory === 'true' }),
    },
  }
}
