import type { Observed } from '../collector.ts'
import type { Api, OtelContext, OtelSpan, Tracer } from './shapes.ts'

/** `SpanStatusCode.ERROR` */
const ERROR = 2

interface Followed {
  readonly context: OtelContext
  /** The span of the wait at first, then of the hold. */
  span: OtelSpan
}

/**
 * Two spans for every lock, one for the wait and one for the hold, both under the span that was active at the request: a
 * grant arrives in the context of the connection, which has another.
 */
export function traceSpans(locks: Observed, tracer: Tracer, { context: contexts }: Api): () => void {
  if (isNobodys(tracer)) return () => {}
  const followed = new WeakMap<object, Followed>()
  const end = (ref: object | null, outcome: string, failed: boolean): void => {
    const known = ref === null ? undefined : followed.get(ref)
    if (known === undefined) return
    finish(known.span, outcome, failed)
    followed.delete(ref as object)
  }
  const stops = [
    locks.on('entered', ({ key, ref }) => {
      const context = contexts.active()
      const span = tracer.startSpan('holdfast.wait', { attributes: { 'holdfast.key': key } }, context)
      // Not every trace is recorded.
      if (span.isRecording()) followed.set(ref, { context, span })
    }),
    locks.on('granted', ({ key, token, handedOver, ref }) => {
      const known = ref === null ? undefined : followed.get(ref)
      if (known === undefined) return
      known.span.setAttribute('holdfast.handed_over', handedOver)
      finish(known.span, 'granted', false)
      // Tokens are larger than an attribute's exact integers.
      const attributes = { 'holdfast.key': key, ...(token !== null && { 'holdfast.token': String(token) }) }
      known.span = tracer.startSpan('holdfast.hold', { attributes }, known.context)
    }),
    locks.on('turnedAway', ({ ref, why }) => end(ref, why, why === 'timeout' || why === 'failed')),
    locks.on('released', ({ ref, outcome }) => end(ref, outcome, outcome === 'expired')),
    locks.on('lost', ({ ref, cause }) => end(ref, `lost: ${cause}`, true)),
    locks.on('releaseFailed', ({ ref }) => end(ref, 'release failed', true)),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Without a set-up tracer, spans belong to no trace: they are not created. */
function isNobodys(tracer: Tracer): boolean {
  return /^0*$/.test(tracer.startSpan('holdfast.probe').spanContext().traceId)
}

function finish(span: OtelSpan, outcome: string, failed: boolean): void {
  span.setAttribute('holdfast.outcome', outcome)
  if (failed) span.setStatus({ code: ERROR, message: outcome })
  span.end()
}
