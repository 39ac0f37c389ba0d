interface Shapes {
  readonly options?: {
    readonly host?: unknown
    readonly port?: unknown
    readonly url?: unknown
    readonly socket?: { readonly host?: unknown; readonly port?: unknown }
  }
  readonly config?: { readonly addresses?: readonly { readonly host?: unknown; readonly port?: unknown }[] }
}

/** Where a client of ioredis, of node-redis or of glide is connected to, for messages; null when it does not tell. */
export function clientAddress(client: unknown): string | null {
  const { options, config } = client as Shapes
  const place = options?.socket ?? config?.addresses?.[0] ?? options
  if (typeof place?.host === 'string') return `${place.host}:${String(place.port ?? 6379)}`
  if (typeof options?.url !== 'string') return null
  try {
    return new URL(options.url).host
  } catch {
    return null
  }
}
