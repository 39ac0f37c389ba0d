// Writes src/stores/redis/scripts.generated.ts from the scripts beside it, each with its includes and its hash.
// With --check it writes nothing and fails when the file is stale.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const folder = fileURLToPath(new URL('../src/stores/redis/scripts/', import.meta.url))
const target = fileURLToPath(new URL('../src/stores/redis/scripts.generated.ts', import.meta.url))

/** The names of the scripts that are called; those in lib/ are parts of them. */
export function scriptNames() {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -4))
    .sort()
}

/** A script with its includes and without its comments. */
export function scriptSource(name) {
  const lines = expand(resolve(folder, `${name}.lua`), new Set())
  return `${lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n')}\n`
}

export function generated() {
  const entries = scriptNames().map((name) => {
    const source = scriptSource(name)
    const sha = createHash('sha1').update(source).digest('hex')
    return `  ${camel(name)}: {\n    sha: '${sha}',\n    source: ${literal(source)},\n  },`
  })
  return `// Written by scripts/lua.mjs from scripts/*.lua; do not edit.\nexport const SCRIPTS = {\n${entries.join('\n')}\n} as const\n`
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
  const text = generated()
  if (!process.argv.includes('--check')) writeFileSync(target, text)
  else if (readFileSync(target, 'utf8') !== text) {
    console.error('src/stores/redis/scripts.generated.ts is stale: run `npm run lua`')
    process.exitCode = 1
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
