/** The pairs of a reply: a list, or by the newer protocol a map, which the clients show in three ways. */
export function pairsOf(reply: unknown): Map<string, unknown> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [String(name), value]))
  if (!Array.isArray(reply)) return new Map(Object.entries(reply ?? {}))
  const [first] = reply as unknown[]
  if (typeof first === 'object' && first !== null)
    return new Map(
      (reply as { key: unknown; value: unknown }[]).map(({ key, value }) => [String(key), value]),
    )
  const pairs = reply.flatMap((name, at) => (at % 2 === 0 ? [[String(name), reply[at + 1]] as const] : []))
  return new Map(pairs)
}
