import { type Context, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { DataPointType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { connect, LockTimeoutError } from 'holdfast'
import { observe } from 'holdfast/observe'
import { opentelemetry } from 'holdfast/opentelemetry'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRedis } from '../../scripts/servers/redis.ts'
import { MEASURES } from '../../src/observe/measures.ts'

const server = await startRedis()
beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(async () => {
  context.disable()
  await server.stop()
})

class ManualReader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

test('every measure reaches the SDK under the name that Prometheus has', async () => {
  const reader = new ManualReader()
  const provider = new MeterProvider({ readers: [reader] })
  const locks = await connect(server.url)
  const observer = observe(locks)
  observer.collector.keysWithoutTtl = 3
  const stop = await opentelemetry(observer, { meter: provider.getMeter('test'), tracer: null })
  await locks.using('order:1', async () => {})
  await locks.using('order:2', (lease) => lease.extend('20s'))
  const { resourceMetrics } = await reader.collect()
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
  const pointOf = (name: string, labels: object) =>
    metrics
      .find(({ descriptor }) => descriptor.name === name)
      ?.dataPoints.find(({ attributes }) => expect.objectContaining(labels).asymmetricMatch(attributes))

  // No histogram is there before its first value.
  const names = MEASURES.map(({ name }) => name).filter((name) => name !== 'holdfast_line_place')
  expect(metrics.map(({ descriptor }) => descriptor.name).sort()).toEqual(names.sort())
  expect(pointOf('holdfast_acquisitions_total', { pattern: 'order:*', outcome: 'granted' })?.value).toBe(2)
  expect(pointOf('holdfast_keys_without_ttl', {})?.value).toBe(3)
  expect(pointOf('holdfast_hold_seconds', { pattern: 'order:*' })?.value).toMatchObject({ count: 2 })
  expect(metrics.find(({ descriptor }) => descriptor.name === 'holdfast_wait_seconds')).toMatchObject({
    dataPointType: DataPointType.HISTOGRAM,
    descriptor: { unit: 's' },
  })

  stop()
  await locks.using('order:3', async () => {})
  const later = await reader.collect()
  expect(JSON.stringify(later.resourceMetrics.scopeMetrics)).not.toContain('"count":3')
  observer.close()
  await locks.close()
  await provider.shutdown()
})

test('spans for wait and hold stand under the span of the caller', async () => {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = provider.getTracer('test')
  const locks = await connect(server.url)
  const other = await connect(server.url)
  const observer = observe(locks)
  const stop = await opentelemetry(observer, { tracer })
  const inSpan = async (name: string, work: (active: Context) => Promise<unknown>): Promise<void> => {
    const parent = tracer.startSpan(name)
    const active = trace.setSpan(ROOT_CONTEXT, parent)
    await context.with(active, work, undefined, active)
    parent.end()
  }
  const held = await other.acquire('k')
  await Promise.all([
    inSpan('patient', () => locks.using('k', async () => {})),
    inSpan('impatient', () =>
      locks.acquire('k', { wait: 20 }).catch((error) => {
        expect(error).toBeInstanceOf(LockTimeoutError)
        return held.release()
      }),
    ),
  ])
  const lost = await locks.acquire('evicted')
  const gone = new Promise((resolve) => lost.signal.addEventListener('abort', resolve))
  await other.evict('evicted')
  await gone
  stop()
  await locks.using('k', async () => {})
  await other.close()
  await locks.close()

  const spans = exporter.getFinishedSpans()
  const story = (parent: string) => {
    const { spanId } = (spans.find(({ name }) => name === parent) as ReadableSpan).spanContext()
    return spans
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === spanId)
      .map(({ name, attributes, status }) => [name, attributes['holdfast.outcome'], status.code])
  }
  expect(story('patient')).toEqual([
    ['holdfast.wait', 'granted', 0],
    ['holdfast.hold', 'released', 0],
  ])
  expect(story('impatient')).toEqual([['holdfast.wait', 'timeout', 2]])
  expect(spans.at(-1)).toMatchObject({
    name: 'holdfast.hold',
    attributes: { 'holdfast.key': 'evicted', 'holdfast.outcome': 'lost: evicted' },
  })
  expect(spans).toHaveLength(7)
  await provider.shutdown()
})
