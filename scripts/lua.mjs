// Writes scripts.generated.ts of each store that has scripts, from the files beside it: each with its hash.
// With --check it writes nothing and fails when one of them is stale.
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const stores = ['src/stores/redis', 'src/stores/quorum']

/** The file that is written for a store, and what must stand in it. */
export function generated(store) {
  const folder = fileURLToPath(new URL(`../${store}/scripts/`, import.meta.url))
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -4))
    .sort()
  const shared = new Map()
  const entries = names.map((name) => {
    const file = resolve(folder, `${name}.lua`)
    const pieces = [...flagsOf(file), ...piecesOf(file)]
    const source = pieces.map(({ text }) => text).join('')
    const sha = createHash('sha1').update(source).digest('hex')
    for (const { part, text } of pieces) if (part !== null) shared.set(part, text)
    const written = pieces.map(({ part, text }) => (part === null ? escaped(text) : `\${${part}}`)).join('')
    return `  ${camel(name)}: {\n    sha: '${sha}',\n    source: \`${written}\`,\n  },`
  })
  const parts = [...shared].sort().map(([part, text]) => `const ${part} = \`${escaped(text)}\`\n`)
  const head = '// Written by scripts/lua.mjs from scripts/*.lua; do not edit.\n'
  const text = `${head}${parts.join('')}\nexport const SCRIPTS = {\n${entries.join('\n')}\n} as const\n`
  return { file: resolve(folder, '../scripts.generated.ts'), text }
}

/** The flags of a script; Redis 7 reads them in its first line. */
function flagsOf(file) {
  const flags = /^-- @flags (\S+)$/m.exec(readFileSync(file, 'utf8'))
  if (flags === null) return []
  // A script without any flag is refused as a whole when the memory is full, and not at its first write.
  return [{ part: null, text: flags[1] === 'none' ? '#!lua\n' : `#!lua flags=${flags[1]}\n` }]
}

/** A script without its comments, in pieces: what several scripts include has a name and is written once. */
function piecesOf(file) {
  return expand(file, new Set(), null).filter(({ text }) => text !== '')
}

/** A part that is included twice in one script is written once. */
function expand(file, seen, part) {
  if (seen.has(file)) return []
  seen.add(file)
  const pieces = []
  let lines = []
  const end = () => {
    const kept = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('--'))
    const own = pieces.filter((piece) => piece.part?.startsWith(`${part}$`) || piece.part === part).length
    const name = part === null ? null : own === 0 ? part : `${part}$${own}`
    if (kept.length > 0) pieces.push({ part: name, text: `${kept.join('\n')}\n` })
    lines = []
  }
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const include = /^\s*-- @include (\S+)$/.exec(line)
    if (include === null) lines.push(line)
    else {
      end()
      const path = resolve(dirname(file), include[1])
      pieces.push(...expand(path, seen, camel(basename(path, '.lua'))))
    }
  }
  end()
  return pieces
}

function camel(name) {
  return name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
}

function escaped(text) {
  return text.replace(/[\\`]|\$\{/g, '\\$&')
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
