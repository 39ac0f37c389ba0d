import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createLocks } from 'holdfast'
import { observe } from 'holdfast/observe'
import { prometheus } from 'holdfast/prometheus'
import { Registry } from 'prom-client'
import { afterAll, expect, test } from 'vitest'
import { MONITORING } from '../../scripts/docs/monitoring.ts'
import { ALARM_RULES } from '../../src/observe/alarms/rules.ts'

const ALERTS = fileURLToPath(new URL('../../monitoring/alerts.yml', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'holdfast-rules-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const promtool = (...args: string[]) => promisify(execFile)('promtool', args)

/** Values of a series, one each minute. */
type Series = Readonly<Record<string, string>>

const outcome = (name: string) => `holdfast_acquisitions_total{pattern="order:*",outcome="${name}"}`
const cause = (name: string) => `holdfast_losses_total{pattern="order:*",cause="${name}"}`
const wait = (le: string) => `holdfast_wait_seconds_bucket{pattern="order:*",le="${le}"}`

/** For every alert, series that it must fire for at the tenth minute, and series that it must not fire for. */
const CASES: Readonly<Record<string, { fires: readonly Series[]; quiet: readonly Series[] }>> = {
  HoldfastLowSuccessRate: {
    fires: [
      { [outcome('granted')]: '0+79x10', [outcome('timeout')]: '0+21x10' },
      { [outcome('granted')]: '0+10x10', [outcome('failed')]: '0+10x10' },
    ],
    quiet: [
      { [outcome('granted')]: '0+81x10', [outcome('timeout')]: '0+19x10' },
      { [outcome('granted')]: '0+1x10', [outcome('busy')]: '0+99x10', [outcome('cancelled')]: '0+9x10' },
      { [outcome('granted')]: '5+0x10', [outcome('timeout')]: '5+0x10' },
    ],
  },
  HoldfastLongWaits: {
    fires: [{ [wait('0.1')]: '0+98x10', [wait('0.25')]: '0+100x10', [wait('+Inf')]: '0+100x10' }],
    quiet: [{ [wait('0.05')]: '0+99x10', [wait('0.1')]: '0+100x10', [wait('+Inf')]: '0+100x10' }],
  },
  HoldfastTimeouts: {
    // The second is there for the first time, and begins with one.
    fires: [{ [outcome('timeout')]: '0x7 1x3' }, { [outcome('timeout')]: '_x7 1x3' }],
    quiet: [{ [outcome('timeout')]: '7x10' }, { [outcome('timeout')]: '_x7 0x3' }],
  },
  HoldfastLostLeases: {
    fires: [{ [cause('evicted')]: '0x7 1x3' }, { [cause('deadline')]: '_x7 2x3' }],
    quiet: [{ [cause('closed')]: '0+1x10', [cause('adopted')]: '0+1x10' }, { [cause('expired')]: '3x10' }],
  },
  HoldfastKeysWithoutTtl: {
    fires: [{ holdfast_keys_without_ttl: '0x9 1' }],
    quiet: [{ holdfast_keys_without_ttl: '3x9 0' }],
  },
}

test('promtool accepts the alert file', async () => {
  const { stdout } = await promtool('check', 'rules', ALERTS)
  expect(stdout).toContain(`SUCCESS: ${ALARM_RULES.length} rules found`)
})

test('every alert fires when it should, and only then', async () => {
  expect(Object.keys(CASES).sort()).toEqual(ALARM_RULES.map(({ alert }) => alert).sort())
  const tests = Object.entries(CASES).flatMap(([alert, { fires, quiet }]) => [
    ...fires.map((series) => unitTest(alert, series, true)),
    ...quiet.map((series) => unitTest(alert, series, false)),
  ])
  const file = join(folder, 'tests.yml')
  // YAML reads JSON.
  writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }))
  await promtool('test', 'rules', file)
  const wrong = unitTest('HoldfastTimeouts', { [outcome('timeout')]: '0x10' }, true)
  writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests: [wrong] }))
  await expect(promtool('test', 'rules', file)).rejects.toThrow('FAILED')
})

/** Only whether it fires is compared: `ALERTS` is the series in which Prometheus keeps that. */
function unitTest(alert: string, series: Series, fires: boolean): object {
  const exp_samples = fires ? [{ labels: '{}', value: 1 }] : []
  return {
    name: `${alert} ${fires ? 'fires' : 'is quiet'} for ${JSON.stringify(series)}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      { expr: `count(ALERTS{alertname="${alert}",alertstate="firing"})`, eval_time: '10m', exp_samples },
    ],
  }
}

test('dashboard and alerts ask only for what is exposed, and the dashboard for all of it', async () => {
  const locks = createLocks()
  const observer = observe(locks)
  const registry = new Registry()
  prometheus(observer, registry)
  observer.collector.keysWithoutTtl = 0
  await locks.using('order:1', async () => {})
  const exposition = await registry.metrics()
  observer.close()
  await locks.close()
  const exposed = new Set(exposition.match(/^holdfast_\w+/gm))
  const types = [...exposition.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name as string)
  for (const file of Object.keys(MONITORING)) {
    const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    const asked = [...new Set(text.match(/\bholdfast_\w+/g))]
    expect(asked.filter((name) => !exposed.has(name))).toEqual([])
    if (!file.endsWith('.json')) continue
    expect(types.filter((name) => !asked.some((each) => each.startsWith(name)))).toEqual([])
    const { panels } = JSON.parse(text) as { panels: { targets: { expr: string }[] }[] }
    const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    const groups = [
      { name: 'dashboard', rules: queries.map((expr, place) => ({ record: `q:${place}`, expr })) },
    ]
    const rules = join(folder, 'dashboard.yml')
    writeFileSync(rules, JSON.stringify({ groups }).replaceAll('$__rate_interval', '1m'))
    await promtool('check', 'rules', rules)
  }
})
