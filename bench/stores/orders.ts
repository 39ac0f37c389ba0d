/** The order to the program of this benchmark. */
export type Order =
  | { readonly part: 'alone'; readonly url: string; readonly rounds: number; readonly roundMs: number }
  | { readonly part: 'some'; readonly url: string; readonly count: number }
  | { readonly part: 'contender'; readonly url: string }
  | { readonly part: 'holder' | 'waiter'; readonly url: string; readonly ttlMs: number }
