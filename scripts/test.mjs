// The whole of `npm test`: every step in turn, those that leave a core idle side by side, one line each, the output of a failed step in full,
// and the counts in the last line. `--only build,vitest` runs some of the steps, `--list` names them, `--quick` is for the daily loop: what
// needs neither a server nor a package.
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { coreSuites, nodeBinary, versions } from './nodes.mjs'

const reports = '.cache/reports'
/** Conformance cases that proved nothing because the process stood still. More than a handful, and the run proves too little. */
const MOST_INCONCLUSIVE = 5
const QUICK = ['types', 'biome', 'quick']

const steps = [
  command('entries', 'scripts/entries.mjs', '--check'),
  command('build', 'scripts/build.mjs'),
  [
    command('types', 'node_modules/typescript/bin/tsc', '-p', '.'),
    command('biome', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'),
  ],
  [
    command('knip', 'node_modules/knip/bin/knip.js', '--no-config-hints'),
    command('publint', 'node_modules/publint/src/cli.js', '--strict'),
  ],
  [
    command('attw', 'node_modules/@arethetypeswrong/cli/dist/index.js', '--pack', '.', '--profile', 'node16'),
    command('servers', 'scripts/servers/install.mjs'),
    command('runtimes', 'scripts/runtimes.mjs'),
  ],
  vitest('vitest', () => process.execPath, '--coverage', '--exclude', 'test/process/**'),
  vitest('quick', () => process.execPath, ...coreSuites),
  // Dozens of processes in one test: nothing else runs beside them.
  vitest('processes', () => process.execPath, 'test/process/', '--maxWorkers', '1'),
  Object.keys(versions).map((major) =>
    vitest(`node${major}`, () => nodeBinary(major), '--maxWorkers', '1', ...coreSuites),
  ),
  // Every store under real faults for some seconds, and the broken locks that the checks must flag.
  command('faults', '--import', 'tsx', 'lab/faults/main.ts', '--short'),
  command('simulate', '--import', 'tsx', 'lab/simulation/main.ts', '--seeds', '2000'),
  command('mutants', '--import', 'tsx', 'lab/simulation/main.ts', '--mutants'),
  command('quorum', '--import', 'tsx', 'lab/simulation/main.ts', '--quorum', '--seeds', '200'),
  command('quorum-mutants', '--import', 'tsx', 'lab/simulation/main.ts', '--quorum', '--mutants'),
].map((step) => [step].flat())

const names = steps.flat().map((step) => step.name)
const { values } = parseArgs({
  options: { only: { type: 'string' }, list: { type: 'boolean' }, quick: { type: 'boolean' } },
})
if (values.list) {
  console.log(names.join('\n'))
  process.exit()
}

// The whole run has the suites of the quick one anyway.
const wanted = values.only?.split(',') ?? (values.quick ? QUICK : names.filter((name) => name !== 'quick'))
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`Unknown step: ${unknown.join(', ')}. Steps: ${names.join(', ')}`)
  process.exit(2)
}

mkdirSync(reports, { recursive: true })
let passed = 0
let failed = 0
const skipped = {}
for (const together of steps) {
  const chosen = together.filter(({ name }) => wanted.includes(name))
  for (const result of await Promise.all(chosen.map(timed))) {
    const verdict = result.failed > 0 ? 'FAILED' : 'ok'
    const seconds = result.seconds.toFixed(1).padStart(6)
    console.log(`${result.name.padEnd(15)}${seconds} s  ${[verdict, result.note].filter(Boolean).join('  ')}`)
    if (result.failed > 0) console.log(result.output.trimEnd())
    passed += result.passed
    failed += result.failed
    for (const [reason, count] of Object.entries(result.skipped ?? {}))
      skipped[reason] = (skipped[reason] ?? 0) + count
  }
}
const inconclusive = total(reasonsOf(skipped).filter(([reason]) => reason.startsWith('inconclusive')))
if (inconclusive > MOST_INCONCLUSIVE) {
  failed++
  console.log(`FAILED: ${inconclusive} inconclusive cases, where at most ${MOST_INCONCLUSIVE} may be`)
}
for (const [reason, count] of reasonsOf(skipped))
  console.log(`${String(count).padStart(5)} skipped: ${reason}`)
console.log(`${passed} passed, ${failed} failed, ${total(reasonsOf(skipped))} skipped`)
process.exitCode = failed > 0 ? 1 : 0

/** The reasons, the commonest first. */
function reasonsOf(reasons) {
  return Object.entries(reasons).sort(([, one], [, other]) => other - one)
}

function total(reasons) {
  return reasons.reduce((sum, [, count]) => sum + count, 0)
}

async function timed({ name, run }) {
  const startedAt = performance.now()
  const result = await run().catch((error) => ({ passed: 0, failed: 1, output: String(error) }))
  return { name, ...result, seconds: (performance.now() - startedAt) / 1000 }
}

/** A step that counts as one: passed when the script exits with 0. */
function command(name, ...args) {
  return {
    name,
    async run() {
      const { code, output } = await execute(process.execPath, args)
      return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, output }
    },
  }
}

/** A step that counts its tests. A run that fails outside of any test counts as one failure. */
function vitest(name, binary, ...args) {
  const report = `${reports}/${name}.json`
  const skips = `${reports}/${name}.skips.json`
  return {
    name,
    async run() {
      for (const file of [report, skips]) rmSync(file, { force: true })
      const reporters = ['default', 'json', './scripts/skips.mjs'].map((reporter) => `--reporter=${reporter}`)
      const { code, output } = await execute(
        binary(),
        ['node_modules/vitest/vitest.mjs', 'run', ...reporters, `--outputFile.json=${report}`, ...args],
        { HOLDFAST_SKIPS: skips },
      )
      const { numPassedTests = 0, numFailedTests = 0 } = readJson(report) ?? {}
      const failures = Math.max(numFailedTests, code === 0 ? 0 : 1)
      const skipped = readJson(skips) ?? {}
      const notes = [
        `${numPassedTests} passed`,
        `${total(Object.entries(skipped))} skipped`,
        args.includes('--coverage') ? coverage() : undefined,
      ]
      const note = notes.filter(Boolean).join('  ')
      return { passed: numPassedTests, failed: failures, skipped, output, note }
    },
  }
}

function coverage() {
  const total = readJson('coverage/coverage-summary.json')?.total
  return total && `coverage: lines ${total.lines.pct} %, branches ${total.branches.pct} %`
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

function execute(binary, args, more = {}) {
  return new Promise((resolve, reject) => {
    // Without the switch, packing for publint and attw would build everything again.
    const env = { ...process.env, ...more, npm_config_ignore_scripts: 'true' }
    if (!process.stdout.isTTY) {
      delete env.FORCE_COLOR
      env.NO_COLOR = '1'
    }
    const child = spawn(binary, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}
