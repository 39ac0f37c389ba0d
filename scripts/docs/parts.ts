import { readdirSync, readFileSync } from 'node:fs'
import { exitCodeOf } from '../../src/cli/exit.ts'
import { ERRORS, type ErrorCode, LockError } from '../../src/errors.ts'
import { FINDING_KINDS } from '../../src/observe/doctor/findings.ts'
import { benchmarks, stores } from './benchmarks.ts'
import { expectations, results } from './faults.ts'
import { ROOT } from './files.ts'
import { generations } from './lab.ts'
import { metrics, rules } from './monitoring.ts'
import { bounds, outages } from './outages.ts'
import { simulation } from './simulation.ts'
import { table } from './table.ts'
import { allTraits } from './traits.ts'

/** What stands between the markers of a part: `traits`, `errors`, `interface NAME FILE`, `example NAME`, … */
export async function partOf(part: string): Promise<string> {
  const [kind = '', ...rest] = part.split(' ')
  const make = PARTS[kind]
  if (make === undefined) throw new Error(`there is no generated part "${part}"`)
  return await make(...rest)
}

const PARTS: Record<string, (...rest: string[]) => string | Promise<string>> = {
  traits,
  failover,
  errors,
  interface: declaration,
  example,
  examples,
  sicknesses,
  benchmarks,
  stores,
  expectations,
  results,
  bounds,
  outages,
  simulation,
  generations,
  metrics,
  rules,
}

function sicknesses(): string {
  const rows = Object.entries(FINDING_KINDS).map(([code, { severity, meaning }]) => [
    `\`${code}\``,
    severity,
    meaning,
  ])
  return table(['finding', 'at worst', 'what it means'], rows)
}

const TOGETHER: Record<string, string> = {
  true: 'in one step',
  false: 'one by one, in one order',
  'hash tag': 'in one step if they share a hash tag, else one by one, in one order',
}

async function traits(): Promise<string> {
  const columns = ['store', 'who shares it', 'modes', 'order', 'fencing', 'a waiter is told', 'several keys']
  const rows = (await allTraits()).map((each) => [
    `\`${each.name}\``,
    each.scope,
    each.modes.join(', '),
    each.order,
    each.fencing,
    each.wakeUp === 'push' ? 'by a push' : 'when it looks again',
    TOGETHER[String(each.groups)] as string,
  ])
  const more = [
    'store',
    'a lease can change process',
    'named owners',
    'lock delay',
    'records',
    'ttl is a multiple of',
  ]
  const moreRows = (await allTraits()).map((each) => [
    `\`${each.name}\``,
    each.adoption ? 'yes' : 'no',
    each.owners ? 'yes' : 'no',
    each.lockDelay ? 'yes' : 'no',
    each.records ? 'yes' : 'no',
    `${each.ttlStepMs} ms`,
  ])
  return `${table(columns, rows)}\n\n${table(more, moreRows)}`
}

async function failover(): Promise<string> {
  return (await allTraits()).map((each) => `- \`${each.name}\`: ${each.failover}.`).join('\n')
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(([code, { name, meaning, advice }]) => [
    `\`${code}\``,
    `\`${name}\``,
    meaning,
    advice,
    String(exitCodeOf(new LockError(code as ErrorCode, ''))),
  ])
  return table(['code', 'class', 'meaning', 'what to do', 'exit code of `holdfast`'], rows)
}

/** A declaration as it stands in the sources, with its comments. */
function declaration(name = '', file = ''): string {
  const text = readFileSync(new URL(file, ROOT), 'utf8')
  const found = new RegExp(
    `(?:/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?export interface ${name}\\b[^\\n]*\\{\\n[\\s\\S]*?\\n\\}\\n`,
  ).exec(text)
  if (found === null) throw new Error(`${file} exports no interface ${name}`)
  return `\`\`\`typescript\n${found[0]}\`\`\``
}

/** A whole example without its header. */
function example(name = ''): string {
  const text = readFileSync(new URL(`examples/${name}.ts`, ROOT), 'utf8')
  return `\`\`\`ts\n${text.replace(/^(?:\/\/.*\n)+/, '')}\`\`\``
}

function examples(): string {
  const rows = readdirSync(new URL('examples/', ROOT))
    .filter((file) => file.endsWith('.ts'))
    .sort()
    .map((file) => {
      const text = readFileSync(new URL(`examples/${file}`, ROOT), 'utf8')
      const shows = /^\/\/ Shows: ([\s\S]*?)\n\/\/ Run:/.exec(text)?.[1] ?? ''
      return [`[${file.replace(/\.ts$/, '')}](${file})`, shows.replaceAll(/\n\/\/\s+/g, ' ')]
    })
  return table(['example', 'what it shows'], rows)
}
