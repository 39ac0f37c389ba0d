import type { Recipes } from '../index.ts'
import { checkMiddleware, IDEMPOTENCY } from './check.ts'
import {
  decide,
  type Ended,
  type IdempotencyOptions,
  type KeptResponse,
  keptHeaders,
  problemText,
} from './keys.ts'

/** The used part of Hono's context. */
export interface HonoContext {
  readonly req: { readonly raw: Request; readonly method: string; header(name: string): string | undefined }
  res: Response
}

/** Statuses whose response must not have a body, not even an empty one. */
const BODYLESS = new Set([204, 205, 304])

/** Middleware for Hono. */
export function idempotencyKeyHono(locks: Recipes, options: IdempotencyOptions<HonoContext> = {}) {
  checkMiddleware(locks, options, IDEMPOTENCY)
  return async (context: HonoContext, next: () => Promise<void>): Promise<Response | undefined> => {
    const { req } = context
    const url = new URL(req.raw.url)
    const header = req.header('Idempotency-Key')
    const asked = {
      request: context,
      method: req.method,
      path: url.pathname + url.search,
      header,
      body: header === undefined ? '' : new Uint8Array(await req.raw.clone().arrayBuffer()),
    }
    const verdict = await decide(locks, options, asked, async () => {
      await next()
      return endedOf(context.res)
    })
    if (verdict.kind === 'pass') {
      await next()
      return undefined
    }
    if (verdict.kind === 'gone') return undefined
    const response =
      verdict.kind === 'respond'
        ? responseOf(verdict.response, verdict.replayed)
        : new Response(problemText(verdict), {
            status: verdict.status,
            headers: { 'Content-Type': 'application/problem+json' },
          })
    // The context adds its own headers to a response unless it is replaced first.
    context.res = undefined as unknown as Response
    context.res = response
    return response
  }
}

async function endedOf(response: Response): Promise<Ended> {
  const { status, headers } = response
  // Only the runtime itself can make one, to switch protocols: it is sent unchanged.
  if (status < 200) return { notKept: `a response with status ${status} cannot be sent again` }
  const body = Buffer.from(await response.arrayBuffer()).toString('base64')
  const cookies = headers.getSetCookie()
  const all = cookies.length === 0 ? headers : [...headers, ['set-cookie', cookies] as const]
  return { status, headers: keptHeaders(all), body }
}

function responseOf({ status, headers, body }: KeptResponse, replayed: boolean): Response {
  const response = new Response(BODYLESS.has(status) ? null : Buffer.from(body, 'base64'), { status })
  for (const [name, value] of Object.entries(headers)) {
    response.headers.delete(name)
    for (const one of [value].flat()) response.headers.append(name, one)
  }
  if (replayed) response.headers.set('Idempotency-Replayed', 'true')
  return response
}
