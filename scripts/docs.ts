// Writes the files for monitoring, and the generated parts of the documentation, each between `<!-- generated: NAME -->` and `<!-- /generated -->`.
// With --check it writes nothing and fails when a part is stale: npm run docs -- --check
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { markdownFiles, ROOT } from './docs/files.ts'
import { MONITORING } from './docs/monitoring.ts'
import { partOf } from './docs/parts.ts'

export const GENERATED = /(<!-- generated: (.+?) -->\n)[\s\S]*?(<!-- \/generated -->)/g

/** A file's text with every generated part made anew. */
export async function regenerated(text: string): Promise<string> {
  const parts = new Map<string, string>()
  for (const [, , name] of text.matchAll(GENERATED)) parts.set(name as string, await partOf(name as string))
  return text.replace(GENERATED, (_, opening: string, name: string, closing: string) => {
    return `${opening}\n${parts.get(name)}\n\n${closing}`
  })
}

/** Files whose generated parts do not say what the sources say, with what they should be. */
export async function staleFiles(): Promise<Map<string, string>> {
  const stale = new Map<string, string>()
  for (const file of markdownFiles()) {
    const before = readFileSync(new URL(file, ROOT), 'utf8')
    const after = await regenerated(before)
    if (after !== before) stale.set(file, after)
  }
  for (const [file, write] of Object.entries(MONITORING)) {
    const text = write()
    if (!existsSync(new URL(file, ROOT)) || readFileSync(new URL(file, ROOT), 'utf8') !== text)
      stale.set(file, text)
  }
  return stale
}

async function main(check: boolean): Promise<void> {
  for (const [file, text] of await staleFiles()) {
    if (!check) writeFileSync(new URL(file, ROOT), text)
    else process.exitCode = 1
    console.log(check ? `${file} is stale: run \`npm run docs\`` : `${file} written`)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  await main(process.argv.includes('--check'))
