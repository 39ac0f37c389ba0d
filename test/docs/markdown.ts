import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../../scripts/docs/files.ts'

export function read(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8')
}

function exists(file: string): boolean {
  return existsSync(fileURLToPath(new URL(file, ROOT)))
}

/** The code blocks of one language, with the line on which each begins. */
export function blocksOf(text: string, language: string): { readonly line: number; readonly code: string }[] {
  const blocks = text.matchAll(/^```(\S*)\n([\s\S]*?)^```$/gm)
  return [...blocks]
    .filter((block) => block[1] === language)
    .map((block) => ({ line: text.slice(0, block.index).split('\n').length, code: block[2] as string }))
}

/** Code inside a sentence or a table, in backticks. */
export function inlineCodeOf(text: string): string[] {
  return [...prose(text).matchAll(/`([^`\n]+)`/g)].map((match) => (match[1] as string).replaceAll('\\|', '|'))
}

/** The targets of links that stay inside the project: `path`, `path#anchor` or `#anchor`. */
export function linksOf(text: string): string[] {
  const targets = [...prose(text).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string)
  return targets.filter((target) => !/^[a-z]+:/i.test(target))
}

/** The problem with a link of a page, null when there is none. */
export function faultOf(page: string, link: string): string | null {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : posix.join(posix.dirname(page), path)
  if (target.startsWith('..')) return `${link} leads out of the project`
  if (!exists(target)) return `${link}: there is no ${target}`
  if (anchor === undefined) return null
  return anchorsOf(read(target)).includes(anchor) ? null : `${link}: ${target} has no such heading`
}

/** The anchors that GitHub gives to the headings of a page. */
export function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>()
  return [...prose(text).matchAll(/^#{1,6} +(.+)$/gm)].map((match) => {
    const slug = (match[1] as string)
      .toLowerCase()
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/[^\p{L}\p{N}\p{M}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-')
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  })
}

/** The text without its code blocks, in which nothing is a link or a heading. */
function prose(text: string): string {
  return text.replaceAll(/^```[\s\S]*?^```$/gm, '')
}
