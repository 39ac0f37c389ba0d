// Writes scripts.generated.ts of each store that has scripts, from the files beside it: each with its includes and its hash.
// With --check it writes nothing and fails when one of them is stale.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const stores = ['src/stores/redis', 'src/stores/quorum']

/** The file that is written for a store, and what must stand in it. */
export function generated(store) {
  const folder = fileURLToPath(new URL(`../${store}/scripts/`, import.meta.url))
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -4))
    .sort()
  const entries = names.map((name) => {
    const source = scriptSource(resolve(folder, `${name}.lua`))
    const sha = createHash('sha1').update(source).digest('hex')
    return `  ${camel(name)}: {\n    sha: '${sha}',\n    source: ${literal(source)},\n  },`
  })
  const text = `// Written by scripts/lua.mjs from scripts/*.lua; do not edit.\nexport const SCRIPTS = {\n${entries.join('\n')}\n} as const\n`
  return { file: resolve(folder, '../scripts.generated.ts'), text }
}

/** A script with its includes and without its comments. */
function scriptSource(file) {
  const lines = expand(file, new Set())
  return `${lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n')}\n`
}

/** A part that is included twice is written once. */
function expand(file, seen) {
  if (seen.has(file)) return []
  seen.add(file)
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const include = /^\s*-- @include (\S+)$/.exec(line)
      return include ? expand(resolve(dirname(file), include[1]), seen) : [line]
    })
}

function camel(name) {
  return name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
}

function literal(text) {
  return `\`${text.replace(/[\\`]|\$\{/g, '\\$&')}\``
}

function main() {
  for (const store of stores) {
    const { file, text } = generated(store)
    if (!process.argv.includes('--check')) writeFileSync(file, text)
    else if (readFileSync(file, 'utf8') !== text) {
      console.error(`${store}/scripts.generated.ts is stale: run \`npm run lua\``)
      process.exitCode = 1
    }
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
