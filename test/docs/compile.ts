import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../../scripts/docs/files.ts'

/** The assumptions of the pages, so that each piece of code can be compiled by itself. */
const GIVEN = `
import type { Lease, Locks, WriteLease } from 'holdfast'
import type { PgLike, RedisLike } from 'holdfast/guard'
import type { AnyRedisClient } from 'holdfast/redis'

declare global {
  const locks: Locks
  const lease: Lease
  const writeLease: WriteLease
  const client: AnyRedisClient & RedisLike
  const pool: PgLike
  const app: { use(middleware: unknown): void }
  const connect: typeof import('holdfast').connect
  const createLocks: typeof import('holdfast').createLocks
  const redis: typeof import('holdfast/redis').redis
  const text: string
  const url: string
  const order: { id: number }
  const id: string
  function charge(order?: unknown): Promise<string>
  function load(): Promise<object>
  function round(token: bigint | null): Promise<void>
  function work(): Promise<void>
  function save(order: { id: number }, token: bigint | null): Promise<void>
  function log(...what: unknown[]): void
}
`

/** Type-checks pieces of code against the sources, each as a module of its own; returns what the compiler says. */
export async function compile(pieces: ReadonlyMap<string, string>): Promise<string> {
  const root = fileURLToPath(ROOT)
  mkdirSync(join(root, '.cache'), { recursive: true })
  // Inside the project, so that the types of Node are found.
  const folder = mkdtempSync(join(root, '.cache', 'docs-'))
  try {
    writeFileSync(join(folder, 'given.ts'), GIVEN)
    for (const [name, code] of pieces) writeFileSync(join(folder, `${name}.ts`), `${code}\nexport {}\n`)
    writeFileSync(join(folder, 'tsconfig.json'), '{ "extends": "../../tsconfig.json", "include": ["*.ts"] }')
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    return await outputOf([tsc, '-p', folder], folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function outputOf(args: readonly string[], folder: string): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', () => resolve(output))
  })
}
