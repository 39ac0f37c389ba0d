import { InvalidArgumentError } from '../errors.ts'

/**
 * Values as readable text. Plain data is JSON. Dates, maps, sets, big integers, and the numbers and gaps that JSON cannot
 * express become an object with one name, such as `{"$date": …}`. Any other value would be read back differently, so it is
 * refused.
 */
interface Writing {
  readonly argument: string
  /** The enclosing objects: meeting one of them again means that the value contains itself. */
  readonly around: Set<object>
  /** The text contains marks that a reader must decode. */
  marked: boolean
}

/** A stored value; `undefined` too, which JSON cannot express. */
export function packed(argument: string, value: unknown, maxBytes: number): string {
  if (value === undefined) return '{}'
  const writing: Writing = { argument, around: new Set(), marked: false }
  const data = written(writing, '', value)
  const text = JSON.stringify(writing.marked ? { marked: data } : { value: data })
  const bytes = Buffer.byteLength(text)
  if (bytes <= maxBytes) return text
  throw new InvalidArgumentError(argument, `must have at most ${maxBytes} bytes as JSON, not ${bytes}`)
}

export function unpacked<T>(text: string): T {
  const kept = JSON.parse(text) as { value?: T; marked?: unknown }
  return 'marked' in kept ? (restored(kept.marked) as T) : (kept.value as T)
}

function written(writing: Writing, path: string, value: unknown): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      if (Number.isFinite(value) && !Object.is(value, -0)) return value
      return mark(writing, '$number', Object.is(value, -0) ? '-0' : String(value))
    case 'bigint':
      return mark(writing, '$bigint', String(value))
    case 'undefined':
      return mark(writing, '$undefined', true)
    case 'object':
      return value === null ? null : nested(writing, path, value)
    default:
      throw refused(writing, path, `a ${typeof value}`)
  }
}

function nested(writing: Writing, path: string, value: object): unknown {
  if (writing.around.has(value)) throw refused(writing, path, 'an object that contains itself')
  writing.around.add(value)
  const data = writtenObject(writing, path, value)
  writing.around.delete(value)
  return data
}

function writtenObject(writing: Writing, path: string, value: object): unknown {
  const list = (values: Iterable<unknown>) =>
    Array.from(values, (member, index) => written(writing, `${path}[${index}]`, member))
  const prototype = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    // The prototype of all arrays is an array in every realm; a subclass's is not.
    if (!Array.isArray(prototype)) throw refused(writing, path, instanceOf(prototype))
    const named = Object.keys(value).find((name) => !(Number(name) < value.length))
    if (named === undefined) return list(value)
    throw refused(writing, path, `an array with the property ${JSON.stringify(named)}`)
  }
  switch (prototype) {
    case Date.prototype:
      return mark(writing, '$date', (value as Date).toJSON())
    case Map.prototype:
      return mark(writing, '$map', list(value as Map<unknown, unknown>))
    case Set.prototype:
      return mark(writing, '$set', list(value as Set<unknown>))
  }
  // The prototype of another realm, such as a test runner's, counts like ours.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null)
    throw refused(writing, path, instanceOf(prototype))
  const present = Object.entries(value).filter(([, member]) => member !== undefined)
  const data = Object.fromEntries(
    present.map(([name, member]) => [name, written(writing, `${path}.${name}`, member)]),
  )
  const [name, second] = Object.keys(data)
  // A name that looks like a mark gets a further sign in front, which reading removes.
  if (name?.startsWith('$') !== true || second !== undefined) return data
  return mark(writing, `$${name}`, data[name])
}

function mark(writing: Writing, name: string, data: unknown): object {
  writing.marked = true
  return { [name]: data }
}

function instanceOf(prototype: { readonly constructor?: { readonly name: string } } | null): string {
  return `an instance of ${prototype?.constructor?.name || 'a class'}`
}

function refused({ argument }: Writing, path: string, what: string): InvalidArgumentError {
  const where = path === '' ? 'it' : path.replace(/^\./, '')
  return new InvalidArgumentError(argument, `must be plain data, but ${where} is ${what}`)
}

function restored(data: unknown): unknown {
  if (typeof data !== 'object' || data === null) return data
  if (Array.isArray(data)) return data.map(restored)
  const members = Object.entries(data).map(([name, member]) => [name, restored(member)] as const)
  const [[name, member] = ['', undefined], second] = members
  if (!name.startsWith('$') || second !== undefined) return Object.fromEntries(members)
  switch (name) {
    case '$number':
    case '$bigint':
      return name === '$number' ? Number(member) : BigInt(member as string)
    case '$undefined':
      return undefined
    case '$date':
      return new Date((member as string | null) ?? Number.NaN)
    case '$map':
      return new Map(member as [unknown, unknown][])
    case '$set':
      return new Set(member as unknown[])
    default:
      return { [name.slice(1)]: member }
  }
}
