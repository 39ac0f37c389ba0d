import { accessSync, constants, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../../../src/cli/exit.ts'
import { messageOf } from '../../../src/cli/output.ts'
import type { Scenario, ScenarioOutcome } from '../scenario.ts'
import { svgOf } from './svg/draw.ts'
import { element, escaped } from './svg/markup.ts'
import { STYLE } from './svg/style.ts'

export interface Told {
  readonly scenario: Scenario
  readonly outcome: ScenarioOutcome
}

const PAGE_STYLE = `${STYLE}
body{margin:0 auto;max-width:1000px;padding:24px 16px 64px;background:var(--ground);color:var(--text);font:16px/1.5 system-ui,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif}
h1{font-size:28px}h2{font-size:20px;margin:56px 0 4px}p{margin:8px 0}.about{color:var(--faint)}
figure{margin:12px 0;border:1px solid var(--rule);border-radius:8px;overflow:hidden}svg{display:block;width:100%;height:auto}
ul{list-style:none;padding:0;margin:8px 0}li::before{content:'✔ ';color:var(--good);font-weight:700}li.not::before{content:'✘ ';color:var(--bad)}
nav{columns:2;font-size:14px}nav a{display:block;color:var(--plain);text-decoration:none;break-inside:avoid}@media(max-width:600px){nav{columns:1}}`

/** Finds out before the run, not after it, whether there is a place for its pictures. */
export function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
  } catch (error) {
    throw new UsageError(`--svg ${folder} is no folder that can be written to: ${messageOf(error)}`)
  }
}

/** Writes every picture into a file of its own, and one page that has them all. Returns the page. */
export function writePage(folder: string, where: string, told: readonly Told[]): string {
  for (const { scenario, outcome } of told) {
    for (const [at, figure] of outcome.figures.entries())
      writeFileSync(join(folder, `${scenario.name}${at === 0 ? '' : `-${at + 1}`}.svg`), `${svgOf(figure)}\n`)
  }
  const page = join(folder, 'index.html')
  writeFileSync(page, pageOf(where, told))
  return page
}

function pageOf(where: string, told: readonly Told[]): string {
  const links = told.map(({ scenario: { name, title } }) =>
    element('a', { href: `#${name}` }, escaped(title)),
  )
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
    `<title>The story of the lock</title><style>${PAGE_STYLE}</style></head><body>`,
    '<h1>The story of the lock</h1>',
    element('p', { class: 'about' }, escaped(`Run with holdfast lab, on ${where}.`)),
    element('nav', {}, links.join('\n')),
    ...told.map(section),
    '</body></html>',
    '',
  ].join('\n')
}

function section({ scenario: { name, title, about }, outcome: { figures, claims, verdict } }: Told): string {
  const items = claims.map(({ shown, text }) => element('li', shown ? {} : { class: 'not' }, escaped(text)))
  return [
    element('h2', { id: name }, escaped(title)),
    element('p', { class: 'about' }, escaped(about)),
    ...figures.map((figure) => element('figure', {}, svgOf(figure))),
    element('ul', {}, items.join('\n')),
    element('p', {}, escaped(verdict)),
  ].join('\n')
}
