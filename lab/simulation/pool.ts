import { Worker } from 'node:worker_threads'
import type { Result, Task } from './worker.ts'

/** No run takes that long; a promise that loops for ever is stopped by it. */
const LONGEST_MS = { run: 60_000, shrink: 600_000 }

/** Nearly everything that a run makes is soon forgotten: with more room for it, there is less to look through. */
const YOUNG_MB = 64

/** A thread that runs plans, one after the other. */
export class Runner {
  private readonly worker: Worker

  constructor(file: string) {
    this.worker = new Worker(file, { resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } })
  }

  ask<T extends Task>(task: T): Promise<Result<T>> {
    return new Promise((resolve, reject) => {
      const settle = (action: () => void): void => {
        clearTimeout(timer)
        this.worker.off('message', onMessage)
        this.worker.off('error', onError)
        action()
      }
      const onMessage = ({ result, error }: { result?: Result<T>; error?: string }): void => {
        settle(() => (error === undefined ? resolve(result as Result<T>) : reject(new Error(error))))
      }
      const onError = (error: Error): void => settle(() => reject(error))
      const timer = setTimeout(() => settle(() => reject(new Error('the run hangs'))), LONGEST_MS[task.kind])
      this.worker.on('message', onMessage)
      this.worker.on('error', onError)
      this.worker.postMessage(task)
    })
  }

  async close(): Promise<void> {
    await this.worker.terminate()
  }
}

/** Spreads items over runners of the same file; each runner takes the next item when it is free. */
export async function spread<I>(
  file: string,
  workers: number,
  items: Iterable<I>,
  job: (runner: Runner, item: I) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]()
  const work = async (): Promise<void> => {
    const runner = new Runner(file)
    try {
      for (let next = iterator.next(); next.done !== true; next = iterator.next())
        await job(runner, next.value)
    } finally {
      await runner.close()
    }
  }
  await Promise.all(Array.from({ length: workers }, work))
}
