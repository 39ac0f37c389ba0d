const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Runs `release` when the process gets a signal that would end it. Where nobody else handles the signal, the process
 * then ends by it; a program with handlers of its own decides for itself when it ends.
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
  // First in line, so that a handler that is called only once has not gone yet when the others are counted.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal)
  return stop
}
