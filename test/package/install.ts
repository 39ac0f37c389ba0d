import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import entries from '../../entries.json' with { type: 'json' }

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The files of each entry point. */
export const BUILT = Object.keys(entries).flatMap((subpath) => {
  const name = subpath === '.' ? 'index' : subpath.slice(2)
  return ['.js', '.cjs', '.d.ts', '.d.cts'].map((ending) => `dist/${name}${ending}`)
})

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A project that has installed what would be published, and nothing else: no optional peer, no registry. */
export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'))
  /** The files of the package, as npm lists them. */
  files: readonly string[] = []

  async install(): Promise<void> {
    if (!BUILT.every((file) => existsSync(join(ROOT, file))))
      await mustSucceed(ROOT, 'node', 'scripts/build.mjs')
    const packed = await mustSucceed(
      ROOT,
      'npm',
      'pack',
      '--ignore-scripts',
      '--json',
      '--pack-destination',
      this.folder,
    )
    const [{ filename, files }] = JSON.parse(packed) as [{ filename: string; files: { path: string }[] }]
    this.files = files.map(({ path }) => path)
    this.write('package.json', '{ "private": true }')
    await mustSucceed(
      this.folder,
      'npm',
      'install',
      '--offline',
      '--ignore-scripts',
      '--no-package-lock',
      filename,
    )
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text)
  }

  node(...args: readonly string[]): Promise<Finished> {
    return execute(this.folder, 'node', args)
  }

  /** One of the type-checkers of this project, over the consumer's files. */
  check(compiler: string): Promise<Finished> {
    return this.node(join(ROOT, 'node_modules', compiler, 'bin/tsc'), '-p', '.')
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Installs clients in a folder: those of this project, without the network. */
export function linkClients(folder: string): void {
  for (const client of ['ioredis', '@photostructure/sqlite']) {
    const link = join(folder, 'node_modules', client)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', client), link)
  }
}

async function mustSucceed(folder: string, command: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await execute(folder, command, args)
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${stdout}${stderr}`)
  return stdout
}

export function execute(
  folder: string,
  command: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const child = spawn(command === 'node' ? process.execPath : command, args, {
    cwd: folder,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: command === 'npm' && process.platform === 'win32',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
