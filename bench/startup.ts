import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Bench, Context } from './context.ts'
import { OLDER } from './older.ts'
import { peerVersions } from './peers.ts'
import type { Result, Row, Target } from './result.ts'
import { median, quantile } from './statistics.ts'

const ROUNDS = { full: 41, tiny: 1 }
const INDEX = 'holdfast'
const REDIS = 'holdfast/redis'
const PEERS: Readonly<Record<string, string>> = {
  redlock5: './node_modules/redlock5/dist/esm/index.js',
  '@verrou/core': './node_modules/@verrou/core/build/index.js',
}

/** Prints the milliseconds that an import takes, with everything that it loads. */
const PROGRAM = `const from = performance.now(); await import(process.argv[1]); console.log(performance.now() - from)`

const NOTES: readonly string[] = [
  'A new process for each reading, in turn; the clock runs from before the import until it is done. The files are in the cache of the system.',
]

/** How long a process waits for the package before its own code runs. */
function run({ size, progress }: Context): Result {
  // A tiny run may stand beside tests that use the build.
  if (size === 'full' || !existsSync(pathOf('../dist/index.js'))) {
    progress('startup: builds the package')
    execFileSync(process.execPath, ['scripts/build.mjs', '--quiet'], { stdio: 'inherit' })
  }
  const subjects = subjectsOf(size === 'tiny')
  const readings = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]))
  const rounds = ROUNDS[size]
  for (let round = 1; round <= rounds; round++) {
    progress(`startup: round ${round} of ${rounds}`)
    for (const [name, file] of Object.entries(subjects)) readings.get(name)?.push(importMs(file))
  }
  const rows = [...readings].map(([subject, each]): Row => {
    const figures = { 'ms (median)': median(each), 'ms p90': quantile(each, 0.9) }
    return { workload: 'import', subject, figures }
  })
  return { rows, targets: targetsOf(rows), overlaps: 0, notes: NOTES, versions: versionsOf(subjects) }
}

function subjectsOf(alone: boolean): Record<string, string> {
  const older = OLDER === null ? {} : { [OLDER.name]: `${OLDER.folder}/dist/index.js` }
  const peers = alone
    ? {}
    : Object.fromEntries(Object.entries(PEERS).map(([name, file]) => [name, pathOf(file)]))
  return { [INDEX]: pathOf('../dist/index.js'), [REDIS]: pathOf('../dist/redis.js'), ...older, ...peers }
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}

function importMs(file: string): number {
  const args = ['--input-type=module', '--eval', PROGRAM, file]
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }))
}

function targetsOf(rows: readonly Row[]): Target[] {
  const target = (subject: string, atMost: number): Target[] =>
    rows
      .filter((row) => row.subject === subject)
      .map(({ figures }) => ({
        what: `import of ${subject}, ms`,
        value: figures['ms (median)'] as number,
        bound: { atMost },
      }))
  return [...target(INDEX, 15), ...target(REDIS, 20)]
}

function versionsOf(subjects: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(peerVersions()).filter(([name]) => name in subjects))
}

export const STARTUP: Bench = { run }
