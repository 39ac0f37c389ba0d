import type { Claim, Mode } from '../../model/index.ts'

/** A position: the sequence number and the czxid of the node that founded it. */
export interface PositionName {
  readonly seq: number
  readonly founder: bigint
}

/** A node's name contains all that decides about its claim, so a list of the names is the queue. */
export interface NodeName {
  readonly name: string
  readonly id: string
  readonly mode: Mode
  readonly owner: string | null
  /** True if a blocked claim stays in the queue. */
  readonly queued: boolean
  /** The sequence number that ZooKeeper gave it. */
  readonly seq: number
  /** Null for a node that founded its own position. */
  readonly position: PositionName | null
  /** True if another version of Holdfast made it; its other fields are then unknown. */
  readonly foreign: boolean
}

/**
 * The version of the names. Version 1 wrote to the data of a holder's node, which now means that it is released. Version 2 gave
 * a remade node another name.
 */
const FORMAT = '3'

/** The paths of all nodes: below `/holdfast`, or below the path of the URL. */
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

/** Encodes any text as one element of a path. */
export function elementOf(text: string): string {
  const element = encodeURIComponent(text)
  // ZooKeeper refuses these two.
  return element === '.' || element === '..' ? element.replaceAll('.', '%2E') : element
}

export function textOf(element: string): string {
  return decodeURIComponent(element)
}

/** The name of a claim's node, without the sequence number that ZooKeeper appends. */
export function nodeStem({ id, mode, owner, queue }: Claim, position: PositionName | null): string {
  const at = position === null ? '' : `${position.seq}@${position.founder.toString(16)}`
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
    // After 2147483647 ZooKeeper continues with -2147483648.
    seq: Number(seq) | 0,
    position: at === '' ? null : positionFrom(at as string),
    foreign: false,
  }
}

const FOREIGN: Omit<NodeName, 'name'> = {
  id: '',
  mode: { kind: 'exclusive' },
  owner: null,
  queued: true,
  seq: 0,
  position: null,
  foreign: true,
}

function positionFrom(text: string): PositionName {
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
