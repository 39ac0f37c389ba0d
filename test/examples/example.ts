import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** A program of `examples/` and the lines that its own header says it prints. */
export interface Example {
  readonly file: string
  readonly shows: string
  readonly prints: readonly string[]
}

export interface Run {
  readonly code: number | null
  readonly lines: readonly string[]
  readonly errors: string
}

const FOLDER = new URL('../../examples/', import.meta.url)

export function examples(): Example[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => exampleOf(file, readFileSync(new URL(file, FOLDER), 'utf8')))
}

export function exampleOf(file: string, source: string): Example {
  const header = /^(?:\/\/.*\n)+/.exec(source)?.[0] ?? ''
  const [about = '', printed = ''] = header.split('// Prints:\n')
  if (!about.startsWith('// Shows: ')) throw new Error(`${file} does not begin with "// Shows: …"`)
  if (!about.includes(`// Run:   node --import tsx examples/${file}\n`))
    throw new Error(`${file} does not say how it is run`)
  const prints = printed.split('\n').filter(Boolean)
  if (prints.length === 0 || prints.some((line) => !line.startsWith('//   ')))
    throw new Error(`${file} does not say what it prints, each line after "//   "`)
  const shows = about.slice('// Shows: '.length, about.indexOf('// Run:')).replaceAll(/\n\/\/\s+/g, ' ')
  return { file, shows: shows.trim(), prints: prints.map((line) => line.slice('//   '.length)) }
}

/** The pattern of an announced line; `…` stands for the parts that differ from run to run. */
export function patternOf(line: string): RegExp {
  const parts = line.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.+')}$`)
}

export function run(file: string): Promise<Run> {
  const root = new URL('..', FOLDER)
  const child = spawn(process.execPath, ['--import', 'tsx', `examples/${file}`], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, lines: output.split('\n').filter(Boolean), errors }))
  })
}
