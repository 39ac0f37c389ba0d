// Shows: metrics for Prometheus, by pattern of key, and an alarm when waits end in timeouts.
// Run:   node --import tsx examples/metrics.ts
// Prints:
//   HoldfastTimeouts firing: report, 1
//   holdfast_acquisitions_total{pattern="order:*",outcome="granted"} 3
//   holdfast_acquisitions_total{pattern="report",outcome="granted"} 1
//   holdfast_acquisitions_total{pattern="report",outcome="timeout"} 1
import { createLocks } from 'holdfast'
import { observe } from 'holdfast/observe'
import { prometheus } from 'holdfast/prometheus'
import { Registry } from 'prom-client'

const locks = createLocks()
let alarmed = (): void => {}
const alarm = new Promise<void>((resolve) => {
  alarmed = resolve
})
const observer = observe(locks, {
  every: '100ms',
  rules: { successRate: false, waitP99: false },
  onAlarm({ alert, state, pattern, value }) {
    console.log(`${alert} ${state}: ${pattern}, ${value}`)
    alarmed()
  },
})
const registry = new Registry()
prometheus(observer, registry)

for (const order of [7, 8, 9]) await locks.using(`order:${order}`, async () => {})
await locks.using('report', async () => {
  await locks.acquire('report', { wait: '20ms' }).catch(() => {})
})

const keepAlive = setInterval(() => {}, 1000)
await alarm
clearInterval(keepAlive)
const figures = (await registry.metrics()).split('\n')
for (const line of figures) if (/^holdfast_acquisitions_total.* [1-9]/.test(line)) console.log(line)
observer.close()
await locks.close()
