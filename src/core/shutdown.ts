const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Runs `release` before the process ends by a signal; whatever happens, it then ends by that very signal. */
export function releaseOnSignal(release: () => Promise<void>): () => void {
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
  const onSignal = (signal: NodeJS.Signals): void => {
    void release().then(
      () => end(signal),
      () => end(signal),
    )
  }
  const end = (signal: NodeJS.Signals): void => {
    stop()
    // A program with handlers of its own decides for itself when it ends.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return stop
}
