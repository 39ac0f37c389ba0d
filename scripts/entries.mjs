// Writes the `exports` of package.json and the `paths` of tsconfig.json from entries.json.
// With --check it writes nothing and fails when they have drifted apart.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'

const entries = read('entries.json')
const check = process.argv.includes('--check')
const problems = []

const exportsMap = {}
const paths = {}
for (const [subpath, source] of Object.entries(entries)) {
  const name = subpath === '.' ? 'index' : subpath.slice(2)
  if (!existsSync(source)) problems.push(`entries.json: ${source} does not exist`)
  exportsMap[subpath] = {
    import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
    require: { types: `./dist/${name}.d.cts`, default: `./dist/${name}.cjs` },
  }
  paths[subpath === '.' ? 'holdfast' : `holdfast/${name}`] = [`./${source}`]
}
exportsMap['./package.json'] = './package.json'

sync('package.json', (json) => ({ ...json, exports: exportsMap }))
sync('tsconfig.json', (json) => ({ ...json, compilerOptions: { ...json.compilerOptions, paths } }))

if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}

function read(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function sync(file, change) {
  const before = read(file)
  const after = change(before)
  if (isDeepStrictEqual(before, after)) return
  if (check) {
    problems.push(`${file} does not agree with entries.json: run \`npm run entries\``)
    return
  }
  writeFileSync(file, `${JSON.stringify(after, null, 2)}\n`)
  spawnSync(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'format', '--write', file], {
    stdio: 'inherit',
  })
}
