import { hasMethods } from '../core/check.ts'
import { InvalidArgumentError } from '../index.ts'
import type { Collector } from './collector.ts'
import type { Histogram } from './histogram.ts'
import { MEASURES, type Measure } from './measures.ts'

/** The shape of a `prom-client` registry. */
export interface PrometheusRegistry {
  // biome-ignore lint/suspicious/noExplicitAny: the client's own type wants its own classes, and asks only for a name and `get`
  registerMetric(metric: any): void
  removeSingleMetric(name: string): void
}

interface Value {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
}

/**
 * Registers every measure in the user's registry, which reads the values on demand. Returns a function that removes them.
 * One registry takes one collector, which may watch several locks.
 */
export function prometheus(
  source: { readonly collector: Collector },
  registry: PrometheusRegistry,
): () => void {
  if (!hasMethods(source?.collector, ['series', 'calls']))
    throw new InvalidArgumentError('source', 'must be what observe() gives, or hold a Collector')
  if (!hasMethods(registry, ['registerMetric', 'removeSingleMetric']))
    throw new InvalidArgumentError('registry', 'must be a Registry of prom-client, such as its `register`')
  const names: string[] = []
  const remove = (): void => {
    for (const name of names.splice(0)) registry.removeSingleMetric(name)
  }
  try {
    for (const measure of MEASURES) {
      registry.registerMetric(new RegistryMetric(measure, source.collector))
      names.push(measure.name)
    }
  } catch (error) {
    remove()
    throw error
  }
  return remove
}

/** The interface that a registry expects of a metric. It may change the name when it writes OpenMetrics. */
class RegistryMetric {
  name: string
  readonly help: string
  readonly type: string
  /** The aggregation of the workers' values in a cluster's primary. */
  readonly aggregator = 'sum'
  private readonly measure: Measure
  private readonly collector: Collector

  constructor(measure: Measure, collector: Collector) {
    this.measure = measure
    this.collector = collector
    this.name = measure.name
    this.help = measure.help
    this.type = measure.type
  }

  async get(): Promise<object> {
    const { name, help, type, aggregator, measure, collector } = this
    const values: readonly Value[] =
      measure.type === 'histogram'
        ? measure.read(collector).flatMap((histogram) => valuesOf(name, histogram))
        : measure.read(collector)
    return { name, help, type, aggregator, values }
  }

  /** Other readers share the values, so no one resets them. */
  reset(): void {}
}

function valuesOf(name: string, { labels, bounds, counts, sum }: Histogram): Value[] {
  let below = 0
  const buckets: Value[] = []
  for (let index = 0; index <= bounds.length; index++) {
    below += counts[index] as number
    buckets.push({
      labels: { le: bounds[index] ?? '+Inf', ...labels },
      value: below,
      metricName: `${name}_bucket`,
    })
  }
  return [
    ...buckets,
    { labels, value: sum, metricName: `${name}_sum` },
    { labels, value: below, metricName: `${name}_count` },
  ]
}
