import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Older } from './older.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const BUILDS = join(ROOT, '.cache', 'builds')

/** The build of a commit, a tag or a packed tarball: made once, kept in .cache/builds. */
export function olderBuild(wanted: string, progress: (what: string) => void): Older {
  if (wanted.endsWith('.tgz')) return packed(wanted)
  const commit = git('rev-parse', '--verify', '--end-of-options', `${wanted}^{commit}`)
  const folder = join(BUILDS, commit)
  const name = `holdfast@${git('rev-parse', '--short', commit)}`
  if (!existsSync(folder)) {
    progress(`building ${name} …`)
    keepWhole(folder, (draft) => buildIn(draft, commit))
  }
  return { name, folder }
}

function packed(file: string): Older {
  const hash = createHash('sha256').update(readFileSync(file)).digest('hex').slice(0, 12)
  const folder = join(BUILDS, hash)
  if (!existsSync(folder))
    keepWhole(folder, (draft) => run('tar', ['-xzf', file, '-C', draft, '--strip-components=1'], ROOT))
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { name: `holdfast@${version}-${hash.slice(0, 7)}`, folder }
}

/** The sources stand beside the packages of today if those build them in the same way, because the result depends on none; else beside their own. */
function buildIn(draft: string, commit: string): void {
  run('sh', ['-c', 'git archive "$0" | tar -x -C "$1"', commit, draft], ROOT)
  if (toolsOf(draft) === toolsOf(ROOT)) symlinkSync(join(ROOT, 'node_modules'), join(draft, 'node_modules'))
  else run('npm', ['ci', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'], draft)
  run(process.execPath, ['scripts/build.mjs', '--quiet'], draft)
}

function toolsOf(folder: string): string {
  const text = readFileSync(join(folder, 'package.json'), 'utf8')
  const { devDependencies, overrides } = JSON.parse(text) as Record<string, Record<string, string>>
  return JSON.stringify([devDependencies?.tsdown, devDependencies?.typescript, overrides])
}

/** A build that was interrupted is not taken for one. Only what a user of the package gets is kept. */
function keepWhole(folder: string, make: (draft: string) => void): void {
  mkdirSync(BUILDS, { recursive: true })
  const draft = mkdtempSync(join(BUILDS, '.draft-'))
  const whole = mkdtempSync(join(BUILDS, '.whole-'))
  try {
    make(draft)
    for (const part of ['dist', 'package.json'])
      cpSync(join(draft, part), join(whole, part), { recursive: true })
    renameSync(whole, folder)
  } finally {
    for (const each of [draft, whole]) rmSync(each, { recursive: true, force: true })
  }
}

function run(program: string, args: readonly string[], cwd: string): void {
  execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
