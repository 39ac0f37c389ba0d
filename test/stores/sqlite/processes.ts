import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const SCRIPT = fileURLToPath(new URL('./child.ts', import.meta.url))

/** Another process, and what it says, one JSON value to a line. */
export class Child {
  readonly process: ChildProcess
  private readonly lines: AsyncIterator<string>

  constructor(role: string, path: string, key = 'k', options: SpawnOptions = {}) {
    this.process = spawn(process.execPath, ['--import', 'tsx', SCRIPT, role, path, key], {
      stdio: ['ignore', 'pipe', 'inherit'],
      ...options,
    })
    onTestFinished(() => {
      this.process.kill('SIGKILL')
    })
    if (this.process.stdout === null) throw new Error('the child has no output')
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]()
  }

  async says(): Promise<unknown> {
    const { value, done } = await this.lines.next()
    if (done === true) throw new Error('the child ended without a word')
    return JSON.parse(value)
  }

  async kill(): Promise<void> {
    const gone = once(this.process, 'exit')
    this.process.kill('SIGKILL')
    await gone
  }

  async exit(): Promise<number | null> {
    const [code] = this.process.exitCode === null ? await once(this.process, 'exit') : [this.process.exitCode]
    return code
  }
}
