const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Runs `release` when the process gets a signal that would end it. Without another handler the process then ends by that
 * signal; a program with its own handlers decides when it ends.
 */
export function releaseOnSignal(release: (isLast: boolean) => Promise<void>): () => void {
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    const isLast = process.listenerCount(signal) === 1
    const end = () => {
      stop()
      if (isLast) process.kill(process.pid, signal)
    }
    void release(isLast).then(end, end)
  }
  // Prepended, so that `once` handlers are still registered when the others are counted.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal)
  return stop
}
