import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Run } from '../run.ts'
import { replayCommand, type Summary } from './summary.ts'
import { escaped } from './svg.ts'
import { closeUp, overview } from './timeline.ts'

const MOST_PICTURES = 12

/** The report of one run as a page and as Markdown, with the pictures beside it. */
export function writeReport(folder: string, run: Run, summary: Summary): string {
  mkdirSync(folder, { recursive: true })
  const { story, verdict } = run
  // The effects of a documented weakness are shown too.
  const shown = [...verdict.violations, ...verdict.classC].slice(0, MOST_PICTURES)
  const pictures = shown.map((violation, index) => ({
    file: `${verdict.violations.includes(violation) ? 'violation' : 'weakness'}-${index + 1}.svg`,
    title: `${verdict.violations.includes(violation) ? 'violation' : 'class C'}: ${violation.check} on "${violation.key}"`,
    what: violation.what,
    svg: closeUp(story, violation),
  }))
  const all = { file: 'overview.svg', title: 'the whole run', what: '', svg: overview(story) }
  for (const { file, svg } of [all, ...pictures]) writeFileSync(join(folder, file), svg)
  writeFileSync(join(folder, 'report.md'), markdown(summary, [all, ...pictures]))
  const page = join(folder, 'report.html')
  writeFileSync(page, html(summary, [all, ...pictures]))
  return page
}

interface Shown {
  readonly file: string
  readonly title: string
  readonly what: string
  readonly svg: string
}

export function figuresOf(summary: Summary): [string, string][] {
  const { faults, classB } = summary
  const count = Object.values(faults).reduce((sum, each) => sum + each, 0)
  return [
    ['minutes', String(summary.minutes)],
    [
      'operations',
      `${summary.operations}, of which ${summary.grants} granted and ${summary.unknown} with unknown outcome`,
    ],
    ['faults', `${count} of ${Object.keys(faults).length} kinds`],
    ...Object.entries(faults).map(([kind, number]): [string, string] => [`· ${kind}`, String(number)]),
    ['class A: two valid leases at once', String(summary.classA)],
    [
      'class B: writes after the own deadline',
      `${classB.refused} refused, ${classB.accepted} accepted before anybody else had come`,
    ],
    ['class C: announced weakness of the store', String(summary.classC)],
    ['stale writes accepted', String(summary.staleWrites)],
    ['lost wake-ups', String(summary.lostWakeUps)],
    ['served out of order', String(summary.inversions)],
    ['worst recovery', `${summary.worstRecoveryMs} ms`],
    ['broken locks that the checks flagged', String(summary.controlsFlagged)],
    ['violations', String(summary.violations.length)],
  ]
}

function markdown(summary: Summary, pictures: readonly Shown[]): string {
  const rows = figuresOf(summary).map(([name, value]) => `| ${name} | ${value} |`)
  const shown = pictures.map(({ file, title, what }) => `## ${title}\n\n${what}\n\n![${title}](${file})\n`)
  return [
    `# Faults against ${summary.store}, seed ${summary.seed}\n`,
    `\`${replayCommand(summary)}\`\n`,
    '| | |\n|---|---|',
    `${rows.join('\n')}\n`,
    ...shown,
  ].join('\n')
}

function html(summary: Summary, pictures: readonly Shown[]): string {
  const rows = figuresOf(summary).map(
    ([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(value)}</td></tr>`,
  )
  const shown = pictures.map(
    ({ title, what, svg }) => `<section><h2>${escaped(title)}</h2><p>${escaped(what)}</p>${svg}</section>`,
  )
  const title = `Faults against ${escaped(summary.store)}, seed ${summary.seed}`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title><style>${STYLE}</style><main><h1>${title}</h1><p class="${summary.violations.length === 0 ? 'good' : 'bad'}">${summary.violations.length === 0 ? 'No promise was broken.' : `${summary.violations.length} promises were broken.`}</p><pre>${escaped(replayCommand(summary))}</pre><table>${rows.join('')}</table>${shown.join('')}</main></html>\n`
}

const STYLE = [
  'body{font:15px/1.5 system-ui,sans-serif;margin:0;background:#fafafa;color:#222}',
  'main{max-width:1200px;margin:auto;padding:2rem}',
  'table{border-collapse:collapse}th,td{text-align:left;padding:.2rem .8rem;border-bottom:1px solid #ddd;font-weight:400}',
  'pre{background:#eee;padding:.6rem;overflow:auto}svg{max-width:100%;height:auto;border:1px solid #ddd}',
  '.good{color:#1b5e20}.bad{color:#c1121f;font-weight:600}',
].join('')
