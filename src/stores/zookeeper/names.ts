import type { Claim, Mode } from '../../model/index.ts'

/** The position of a node that did not found it: a sequence number, and the founder's czxid. */
export interface PlaceName {
  readonly seq: number
  readonly founder: bigint
}

/** All that decides about a claim, so that no node has to be read: one list of the names is the queue. */
export interface NodeName {
  readonly name: string
  readonly id: string
  readonly mode: Mode
  readonly owner: string | null
  /** Whether it stays in the queue when it is blocked. */
  readonly queued: boolean
  /** The sequence number that ZooKeeper gave it. */
  readonly seq: number
  /** Null for a node that stands at its own place. */
  readonly place: PlaceName | null
  /** Whether another version of Holdfast made it, so that nothing else is known of it. */
  readonly foreign: boolean
}

/**
 * A name that begins otherwise was written by a version that we do not understand. Version 1 wrote to the data of a holder's
 * node, which now means that it is released. Version 2 gave a node that was made anew another name.
 */
const FORMAT = '3'

/** Where everything is kept: `/holdfast`, or below the path that the user chose. */
export class Paths {
  readonly root: string
  readonly locks: string
  readonly records: string

  constructor(chroot: string) {
    this.root = chroot === '' ? '/holdfast' : chroot
    this.locks = `${this.root}/locks`
    this.records = `${this.root}/records`
  }

  lock(key: string): string {
    return `${this.locks}/${elementOf(key)}`
  }

  record(key: string): string {
    return `${this.records}/${elementOf(key)}`
  }
}

/** One element of a path, whatever letters the text has. */
export function elementOf(text: string): string {
  const element = encodeURIComponent(text)
  // These two mean folders.
  return element === '.' || element === '..' ? element.replaceAll('.', '%2E') : element
}

export function textOf(element: string): string {
  return decodeURIComponent(element)
}

/** The name of a claim's node up to the sequence number that ZooKeeper puts behind it. */
export function nodeStem({ id, mode, owner, queue }: Claim, place: PlaceName | null): string {
  const at = place === null ? '' : `${place.seq}@${place.founder.toString(16)}`
  const named = owner === null ? '' : `~${encodeURIComponent(owner)}`
  return [FORMAT, encodeURIComponent(id), modeText(mode), queue ? 'q' : 't', named, at, ''].join(',')
}

export function parseName(name: string): NodeName {
  const [format, id, mode, queued, owner, at, seq] = name.split(',')
  if (format !== FORMAT || seq === undefined) return { ...FOREIGN, name }
  return {
    name,
    id: textOf(id as string),
    mode: modeOf(mode as string),
    owner: owner === '' ? null : textOf((owner as string).slice(1)),
    queued: queued === 'q',
    // Above 2147483647 ZooKeeper goes on with -2147483648.
    seq: Number(seq) | 0,
    place: at === '' ? null : placeOf(at as string),
    foreign: false,
  }
}

const FOREIGN: Omit<NodeName, 'name'> = {
  id: '',
  mode: { kind: 'exclusive' },
  owner: null,
  queued: true,
  seq: 0,
  place: null,
  foreign: true,
}

function placeOf(text: string): PlaceName {
  const [seq, founder] = text.split('@')
  return { seq: Number(seq), founder: BigInt(`0x${founder}`) }
}

function modeText(mode: Mode): string {
  switch (mode.kind) {
    case 'exclusive':
      return 'x'
    case 'shared':
      return 's'
    case 'permits':
      return `p${mode.weight}-${mode.limit}`
  }
}

function modeOf(text: string): Mode {
  if (text === 'x') return { kind: 'exclusive' }
  if (text === 's') return { kind: 'shared' }
  const [weight, limit] = text.slice(1).split('-').map(Number) as [number, number]
  return { kind: 'permits', limit, weight }
}
