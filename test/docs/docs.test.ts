import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import entries from '../../entries.json' with { type: 'json' }
import packageJson from '../../package.json' with { type: 'json' }
import { markdownFiles, ROOT } from '../../scripts/docs/files.ts'
import { allTraits } from '../../scripts/docs/traits.ts'
import { GENERATED, regenerated, staleFiles } from '../../scripts/docs.ts'
import { startRedis } from '../../scripts/servers/redis.ts'
import { commandNames } from '../../src/cli/commands.ts'
import { ERRORS } from '../../src/errors.ts'
import { PLAIN_TRAITS } from '../../src/stores/redis/plain/traits.ts'
import { compile } from './compile.ts'
import { anchorsOf, blocksOf, faultOf, inlineCodeOf, linksOf, read } from './markdown.ts'

const pages = markdownFiles()
const READMES = ['README.md', 'README.zh.md']
/** Its code is about a store that the reader is writing, and cannot stand alone. */
const FRAGMENTS = ['docs/testing-a-store.md']

describe('generated parts', () => {
  it('say what the sources say', async () => {
    expect([...(await staleFiles()).keys()]).toEqual([])
  })

  it('are there', () => {
    const parts = pages.flatMap((page) =>
      [...read(page).matchAll(GENERATED)].map((part) => `${page}: ${part[2]}`),
    )
    expect(parts).toEqual(
      expect.arrayContaining([
        'docs/errors.md: errors',
        'docs/guarantees.md: traits',
        'docs/guarantees.md: failover',
      ]),
    )
  })

  it('are noticed when they are stale, or of an unknown kind', async () => {
    const page = '<!-- generated: errors -->\nold\n<!-- /generated -->\n'
    expect(await regenerated(page)).toContain('LOCK_TIMEOUT')
    await expect(regenerated(page.replace('errors', 'rumours'))).rejects.toThrow('rumours')
  })

  it('have a row for every error', () => {
    const rows = read('docs/errors.md').split('\n')
    const missing = Object.entries(ERRORS).filter(
      ([code, { name }]) => !rows.some((row) => row.startsWith(`| \`${code}\` | \`${name}\` |`)),
    )
    expect(missing).toEqual([])
  })

  it('have a row for every store that the package exports', async () => {
    const exported = Object.entries(entries).filter(([, source]) => source.startsWith('src/stores/'))
    // One store may stand in several rows: `redis`, `redis+cluster`.
    const told = (await allTraits()).map(({ name }) => `./${name.replace(/\+.*/, '')}`)
    expect([...new Set(told)].sort()).toEqual(exported.map(([subpath]) => subpath).sort())
  })
})

it('recipes.md names the stores that keep no records, and no other', async () => {
  const stores = [...(await allTraits()), PLAIN_TRAITS]
  const without = stores.filter(({ records }) => !records).map(({ name }) => name)
  const [, told = ''] = /A store without records \(([^)]*)\)/.exec(read('docs/recipes.md')) ?? []
  expect(inlineCodeOf(told).sort()).toEqual(without.sort())
})

describe('links', () => {
  it.each(pages)('of %s lead somewhere', (page) => {
    expect(linksOf(read(page)).flatMap((link) => faultOf(page, link) ?? [])).toEqual([])
  })

  it('reach every page from the README', () => {
    const reached = new Set<string>()
    const visit = (page: string): void => {
      if (reached.has(page) || !pages.includes(page)) return
      reached.add(page)
      const folder = new URL(page, 'file:///')
      for (const link of linksOf(read(page))) visit(new URL(link, folder).pathname.slice(1))
    }
    visit('README.md')
    expect(pages.filter((page) => !reached.has(page))).toEqual([])
  })

  it('are checked', () => {
    const text =
      '# One `two`: three\n## One `two`: three\n[a](x.md#y) [b](https://e.org) `[c](d)`\n```\n# no [l](m)\n```\n'
    expect(anchorsOf(text)).toEqual(['one-two-three', 'one-two-three-1'])
    expect(linksOf(text)).toContain('x.md#y')
    expect(linksOf(text)).not.toContain('m')
    expect(faultOf('README.md', 'docs/none.md')).toContain('there is no docs/none.md')
    expect(faultOf('README.md', 'docs/errors.md#none')).toContain('no such heading')
    expect(faultOf('docs/errors.md', '../README.md#install')).toBeNull()
  })
})

describe('code', () => {
  it('in the pages agrees with the types', { timeout: 60_000 }, async () => {
    const pieces = new Map<string, string>()
    for (const page of pages.filter((each) => !FRAGMENTS.includes(each))) {
      for (const { line, code } of blocksOf(read(page), 'ts'))
        pieces.set(`${page.replaceAll('/', '-')}-${line}`, code)
    }
    for (const page of READMES) {
      const calls = inlineCodeOf(read(page)).filter((code) =>
        /^(?:await |const |locks\.|createLocks\()/.test(code),
      )
      pieces.set(`${page}-inline`, calls.map((code) => `{ ${code} }`).join('\n'))
    }
    expect(pieces.size).toBeGreaterThan(4)
    // Mistakes that must be found, or nothing was checked.
    pieces.set('mistaken', `await locks.using(42, work)\nlocks.on('lots', log)`)
    const complaints = (await compile(pieces)).split('\n').filter(Boolean)
    expect(complaints.filter((line) => line.startsWith('mistaken.ts'))).toHaveLength(2)
    expect(complaints.filter((line) => !/^(?:mistaken\.ts| )/.test(line))).toEqual([])
  })

  it('in the READMEs calls commands and scripts that exist', () => {
    for (const page of READMES) {
      const lines = blocksOf(read(page), 'sh').flatMap(({ code }) => code.split('\n'))
      const commands = lines.flatMap((line) => /^holdfast (\w+)/.exec(line)?.[1] ?? [])
      expect(commands.length).toBeGreaterThan(0)
      expect(commands.filter((command) => !commandNames().includes(command))).toEqual([])
      const scripts = lines.flatMap((line) =>
        [...line.matchAll(/npm run (\S+)/g)].map((match) => match[1] as string),
      )
      expect(scripts.filter((script) => !(script in packageJson.scripts))).toEqual([])
    }
  })

  it('in the pages that connects also closes: a connection keeps a script from ending', () => {
    const connecting = pages.flatMap((page) =>
      blocksOf(read(page), 'ts').flatMap(({ line, code }) =>
        /\bconnect\(/.test(code) ? [{ where: `${page}:${line}`, code }] : [],
      ),
    )
    expect(connecting.length).toBeGreaterThan(8)
    const open = connecting.filter(({ code }) => !/\bawait using locks\b|\blocks\.close\(\)/.test(code))
    expect(open.map(({ where }) => where)).toEqual([])
  })

  it.each(READMES)('in %s that connects ends by itself on Redis', { timeout: 60_000 }, async (page) => {
    const [block, ...others] = blocksOf(read(page), 'ts').filter(({ code }) => /\bconnect\(/.test(code))
    expect(others).toEqual([])
    const server = await startRedis()
    const cache = join(fileURLToPath(ROOT), '.cache')
    mkdirSync(cache, { recursive: true })
    // Inside the project, so that its own package is found.
    const folder = mkdtempSync(join(cache, 'readme-'))
    try {
      const file = join(folder, 'script.ts')
      writeFileSync(file, (block?.code ?? '').replace('redis://localhost:6379', server.url))
      const script = ['--import', 'tsx', file]
      const { stdout } = await promisify(execFile)(process.execPath, script, { cwd: folder, timeout: 20_000 })
      expect(stdout).toMatch(/^charging order 42 under token \d+\n$/)
    } finally {
      rmSync(folder, { recursive: true, force: true })
      await server.stop()
    }
  })

  it('is the same in both READMEs', () => {
    const [english, chinese] = READMES.map((page) =>
      inlineCodeOf(read(page)).filter((code) => /^(?:await |locks\.)/.test(code)),
    )
    expect(chinese).toEqual(english)
  })
})
