import { readFileSync, statfsSync } from 'node:fs'
import { UnsupportedError } from '../../errors.ts'

/** File systems whose locks do not work, or may not work, between the hosts that share them. */
const UNSAFE: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb2'],
  [0x517b, 'smb'],
  [0x01021997, '9p'],
  // Also virtiofs, and everything that is mounted by a program: sshfs, gcsfuse, s3fs.
  [0x65735546, 'fuse'],
  [0x00c36400, 'ceph'],
  [0x5346414f, 'afs'],
  [0x0bd00bd0, 'lustre'],
  [0x47504653, 'gpfs'],
  [0x19830326, 'beegfs'],
  [0x786f4256, 'vboxsf'],
])

export interface FileSystemProbe {
  /** The magic number of the file system's type; null where it is unknown. */
  typeOf(folder: string): number | null
  /** The mounts of this process, as in `/proc/self/mountinfo`. */
  mounts(): string
}

export const systemProbe: FileSystemProbe = {
  typeOf(folder) {
    try {
      return process.platform === 'linux' ? statfsSync(folder).type : null
    } catch {
      return null
    }
  },
  mounts: () => readFileSync('/proc/self/mountinfo', 'utf8'),
}

/** SQLite is only as safe as the locks of its file system: two hosts that do not see each other's locks would both hold a key. */
export function requireSafeFileSystem(folder: string, probe: FileSystemProbe): void {
  const unsafe = unsafeFileSystem(folder, probe)
  if (unsafe === null) return
  throw new UnsupportedError(
    `${JSON.stringify(folder)} is on ${unsafe}, where SQLite's locks are not safe between hosts: ` +
      'use a local disk, or a store with a server, or allowUnsafeFileSystem if this is the only host that opens the file',
  )
}

function unsafeFileSystem(folder: string, probe: FileSystemProbe): string | null {
  if (/^\\\\(?![?.]\\)/.test(folder)) return 'a network share'
  const type = probe.typeOf(folder)
  // On a 32-bit system the magic number arrives with its highest bit as a sign.
  const name = type === null ? undefined : UNSAFE.get(type >>> 0)
  if (name === undefined) return null
  return name === 'fuse' ? (mountedType(folder, probe) ?? name) : name
}

/** The name of a file system in user space, such as `virtiofs` or `fuse.sshfs`. */
function mountedType(folder: string, probe: FileSystemProbe): string | null {
  let nearest = ''
  let type: string | null = null
  try {
    for (const line of probe.mounts().split('\n')) {
      const [mount, source] = line.split(' - ')
      const point = mount
        ?.split(' ')[4]
        ?.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))
      if (point === undefined || source === undefined || point.length < nearest.length) continue
      if (folder !== point && !folder.startsWith(point.endsWith('/') ? point : `${point}/`)) continue
      nearest = point
      type = source.split(' ')[0] ?? null
    }
  } catch {
    return null
  }
  return type
}
