import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

/** Gives a program a terminal. */
const SCRIPT = 'script'
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** The real command, built once for a test file, and a folder and a store that are new for every test. */
export class Bench {
  folder = ''
  private built = ''
  private readonly running = new Set<Running>()
  private readonly groups = new Set<number>()

  constructor() {
    beforeAll(async () => {
      // Inside the project, so that the packages it imports are found.
      this.built = mkdtempSync(join(ROOT, 'node_modules', '.holdfast-cli-'))
      await build({
        absWorkingDir: ROOT,
        entryPoints: ['src/cli/main.ts'],
        outdir: this.built,
        bundle: true,
        splitting: true,
        platform: 'node',
        format: 'esm',
        target: 'node20',
        packages: 'external',
        logLevel: 'silent',
        outExtension: { '.js': '.mjs' },
      })
    })
    afterAll(() => rmSync(this.built, { recursive: true, force: true }))
    beforeEach(() => {
      this.folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'))
    })
    afterEach(async () => {
      await Promise.all([...this.running].map((running) => running.abandon()))
      for (const group of this.groups) endGroup(group)
      this.groups.clear()
      this.running.clear()
      rmSync(this.folder, { recursive: true, force: true })
    })
  }

  get store(): string {
    return `sqlite:${this.file('locks.db')}`
  }

  get main(): string {
    return join(this.built, 'main.mjs')
  }

  file(name: string): string {
    return join(this.folder, name)
  }

  /** Sees to it that a command which outlives its runner does not outlive the test. */
  endAtLast(group: number): void {
    this.groups.add(group)
  }

  /** Starts `holdfast …args` on this test's store. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const { FORCE_COLOR: _, ...inherited } = process.env
    const running = new Running(process.execPath, [this.main, ...args], {
      ...inherited,
      NO_COLOR: '1',
      HOLDFAST_STORE: this.store,
      ...env,
    })
    this.running.add(running)
    return running
  }

  /** The same with a piece of code that each of its processes runs first. */
  startWith(preload: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    writeFileSync(this.file('preload.cjs'), preload)
    return this.start(args, { NODE_OPTIONS: `--require=${this.file('preload.cjs')}`, ...env })
  }

  /** The same on a terminal of that many columns, by util-linux's script. */
  startOnTerminal(columns: number, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
    const words = [process.execPath, this.main, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    const line = `stty cols ${columns}; exec ${words.join(' ')}`
    const { NO_COLOR: _, FORCE_COLOR: __, ...inherited } = process.env
    const variables = { ...inherited, TERM: 'xterm', HOLDFAST_STORE: this.store, ...env }
    const running = new Running(SCRIPT, ['-qec', line, '/dev/null'], variables)
    this.running.add(running)
    return running
  }

  holdfast(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
    return this.start(args, env).finished
  }
}

/** A process under observation. */
export class Running {
  readonly finished: Promise<Finished>
  stdout = ''
  stderr = ''
  private readonly child: ChildProcess
  private readonly watchers = new Set<() => void>()

  constructor(file: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(file, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    this.child.stdout?.on('data', (chunk) => this.add('stdout', chunk))
    this.child.stderr?.on('data', (chunk) => this.add('stderr', chunk))
    this.finished = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => {
        // A grandchild that was left alive keeps the pipes open: what counts is the command itself.
        setTimeout(() => resolve({ code, signal, stdout: this.stdout, stderr: this.stderr }), 20)
      })
    })
  }

  get pid(): number {
    return this.child.pid!
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** Closes our end of the pipe, as `head` does when it has seen enough. */
  stopReading(stream: 'stdout' | 'stderr'): void {
    this.child[stream]?.destroy()
  }

  type(text: string): void {
    this.child.stdin?.write(text)
  }

  /** Ends it, if it has not ended, with its command if that can be had. */
  async abandon(): Promise<void> {
    this.child.kill('SIGCONT')
    this.child.kill('SIGTERM')
    const kill = setTimeout(() => this.child.kill('SIGKILL'), 1_000)
    await this.finished
    clearTimeout(kill)
  }

  /** Settles with the match when the output has it; fails when the process ends without it. */
  printed(pattern: RegExp, stream: 'stdout' | 'stderr' = 'stdout'): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this[stream])
        if (match === null) return
        this.watchers.delete(look)
        resolve(match)
      }
      this.watchers.add(look)
      look()
      void this.finished.then((end) => {
        look()
        reject(new Error(`ended without ${pattern}: ${JSON.stringify(end)}`))
      })
    })
  }

  private add(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this[stream] += chunk.toString()
    for (const watcher of [...this.watchers]) watcher()
  }
}

/** True if there are terminals: macOS has another `script`, small containers have none. */
export const TERMINALS = spawnSync(SCRIPT, ['--version']).stdout?.includes('util-linux') === true

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // Gone already, as it should be.
  }
}

/**
 * A command that prints `started` and reacts to a signal. Not a shell: while dash starts a program, a signal that it
 * traps can pass it by.
 */
export function listener(signal: NodeJS.Signals, reaction: string): string[] {
  const script = `process.on('${signal}', () => { ${reaction} }); setInterval(() => {}, 1_000); console.log('started')`
  return [process.execPath, '-e', script]
}

/** True if a process is alive; a zombie is not. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && stateOf(pid) !== 'Z'
  } catch {
    return false
  }
}

/** `T` is stopped, `S` asleep, `Z` ended; unknown where there is no /proc. */
export function stateOf(pid: number): string {
  const file = `/proc/${pid}/stat`
  return existsSync(file) ? (/^\d+ \(.*\) (.)/.exec(readFileSync(file, 'utf8'))?.[1] ?? '') : ''
}

/** A preload that makes this Node one without SQLite of its own, in a project where those packages are not installed. */
export function withoutSqlite(...absent: readonly string[]): string {
  const names = JSON.stringify(['@photostructure/sqlite', ...absent])
  const hook = `export const resolve = (name, context, next) => next(${names}.includes(name) ? 'not-' + name : name, context)`
  return `
    process.getBuiltinModule = undefined
    const { Module, register } = require('node:module')
    const resolve = Module._resolveFilename
    Module._resolveFilename = (name, ...rest) => resolve(${names}.includes(name) ? 'not-' + name : name, ...rest)
    register('data:text/javascript,' + ${JSON.stringify(encodeURIComponent(hook))})`
}
