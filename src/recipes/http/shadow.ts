/**
 * Shadows properties of an object and returns a function that restores them. A value written to a shadowed property in the
 * meantime is kept.
 */
export function shadow(
  target: object,
  methods: Readonly<Record<string, unknown>>,
  readings: Readonly<Record<string, () => unknown>>,
): () => void {
  const before = [...Object.keys(methods), ...Object.keys(readings)].map(
    (name) => [name, Object.getOwnPropertyDescriptor(target, name)] as const,
  )
  const writes = new Map<string, unknown>()
  for (const [name, value] of Object.entries(methods))
    Object.defineProperty(target, name, { configurable: true, writable: true, enumerable: true, value })
  for (const [name, get] of Object.entries(readings))
    Object.defineProperty(target, name, {
      configurable: true,
      enumerable: true,
      get,
      set: (value) => writes.set(name, value),
    })
  return () => {
    for (const [name, descriptor] of before.splice(0)) {
      Reflect.deleteProperty(target, name)
      if (descriptor !== undefined) Object.defineProperty(target, name, descriptor)
      if (writes.has(name)) Reflect.set(target, name, writes.get(name))
    }
  }
}
