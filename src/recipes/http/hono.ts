import type { Recipes } from '../index.ts'
import { decide, type IdempotencyOptions, type KeptResponse, problemText } from './keys.ts'

/** As much of Hono's context as is needed. */
export interface HonoContext {
  readonly req: { readonly raw: Request; readonly method: string; header(name: string): string | undefined }
  res: Response
}

/** Middleware for Hono. */
export function idempotencyKeyHono(locks: Recipes, options: IdempotencyOptions<HonoContext> = {}) {
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
      return keptOf(context.res)
    })
    if (verdict.kind === 'pass') {
      await next()
      return undefined
    }
    const response =
      verdict.kind === 'respond'
        ? responseOf(verdict.response, verdict.replayed)
        : new Response(problemText(verdict), {
            status: verdict.status,
            headers: { 'Content-Type': 'application/problem+json' },
          })
    // The context adds its own headers to what it gets, unless it begins anew.
    context.res = undefined as unknown as Response
    context.res = response
    return response
  }
}

async function keptOf(response: Response): Promise<KeptResponse> {
  const body = Buffer.from(await response.arrayBuffer()).toString('base64')
  return { status: response.status, headers: Object.fromEntries(response.headers), body }
}

function responseOf({ status, headers, body }: KeptResponse, replayed: boolean): Response {
  const bodyless = status === 204 || status === 304
  const response = new Response(bodyless ? null : Buffer.from(body, 'base64'), {
    status,
    headers: headers as Record<string, string>,
  })
  if (replayed) response.headers.set('Idempotency-Replayed', 'true')
  return response
}
