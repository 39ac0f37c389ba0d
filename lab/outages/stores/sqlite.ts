import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadBinding } from '../../../src/stores/sqlite/binding.ts'
import { type Fault, type World, worldOf } from '../world.ts'

const DISK_BYTES = 4 * 1024 * 1024

/** A file has neither server nor network; what can fail is the file, and others who use it. */
export async function sqlite(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-outages-'))
  const mounted = mount(folder)
  const path = join(folder, 'locks.db')
  return worldOf(`sqlite:${path}`, {
    faults: [locked(path), deleted(path), ...(mounted ? [full(folder)] : [])],
    notTried: {
      ...(!mounted && { full: 'needs the right to mount a small disk' }),
      'read-only': 'the rights of a file do not bind the user root',
    },
    alone: true,
    async stop() {
      if (mounted) execFileSync('umount', ['--lazy', folder])
      rmSync(folder, { recursive: true, force: true })
    },
  })
}

/** Somebody else writes for long. */
function locked(path: string): Fault {
  const { DatabaseSync } = loadBinding()
  let database: InstanceType<typeof DatabaseSync> | null = null
  return {
    name: 'locked by another writer',
    start() {
      database = new DatabaseSync(path)
      database.exec('PRAGMA busy_timeout = 3000; BEGIN IMMEDIATE')
    },
    heal() {
      database?.exec('ROLLBACK')
      database?.close()
      database = null
    },
  }
}

function deleted(path: string): Fault {
  return {
    name: 'deleted',
    stays: true,
    start() {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    },
    heal() {},
  }
}

function full(folder: string): Fault {
  const filler = join(folder, 'filler')
  return {
    name: 'full',
    start() {
      for (let bytes = DISK_BYTES; bytes >= 1; bytes = Math.floor(bytes / 2)) append(filler, bytes)
    },
    heal: () => rmSync(filler, { force: true }),
  }
}

/** Fills what is left; the last, smaller pieces fill the rest. */
function append(file: string, bytes: number): void {
  try {
    for (;;) writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' })
  } catch {}
}

/** False where this process may not mount. */
function mount(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder], { stdio: 'ignore' })
    return existsSync(folder) && readdirSync(folder).length === 0
  } catch {
    return false
  }
}
