import type { KeyView } from '../index.ts'

/** The record of a key as data for scripts: `meta` is the program's value, not its text. */
export function viewData({ holders, queue, ...rest }: KeyView) {
  return { ...rest, holders: holders.map(withMeta), queue: queue.map(withMeta) }
}

function withMeta<C extends { readonly meta: string | null }>(claim: C): Omit<C, 'meta'> & { meta: unknown } {
  return { ...claim, meta: claim.meta === null ? null : parsed(claim.meta) }
}

/** Other programs that write to the store may have put any text there. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
