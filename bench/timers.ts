/** How many of Node's timers are set at once, background ones too, which nothing else would tell. */
export function watchTimers(): { most(): number; reset(): void } {
  const { setTimeout: set, clearTimeout: clear } = globalThis
  const live = new Set<unknown>()
  let most = 0
  globalThis.setTimeout = Object.assign((task: (...args: unknown[]) => void, ...rest: unknown[]) => {
    const timer = Reflect.apply(set, globalThis, [
      (...args: unknown[]) => {
        live.delete(timer)
        task(...args)
      },
      ...rest,
    ]) as NodeJS.Timeout
    live.add(timer)
    most = Math.max(most, live.size)
    return timer
  }, set) as typeof setTimeout
  globalThis.clearTimeout = (timer) => {
    live.delete(timer)
    clear(timer)
  }
  return {
    most: () => most,
    reset: () => {
      most = live.size
    },
  }
}
