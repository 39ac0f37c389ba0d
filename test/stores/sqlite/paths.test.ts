import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { InvalidArgumentError, UnsupportedError } from 'holdfast'
import { sqlite } from 'holdfast/sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../../src/stores/sqlite/open.ts'
import { claimOf } from './claims.ts'
import { Child } from './processes.ts'
import { ask, tempFolder } from './world.ts'

function refusalOf(open: () => unknown): string {
  try {
    open()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError)
    return (error as Error).message
  }
  throw new Error('was opened')
}

test('a folder, a missing folder and a file in place of a folder are named', () => {
  const folder = tempFolder()
  writeFileSync(join(folder, 'file'), '')
  expect(refusalOf(() => sqlite(folder))).toBe(`path ${JSON.stringify(folder)} is a folder`)
  expect(refusalOf(() => sqlite(join(folder, 'no', 'locks.db')))).toContain(
    `is in a folder that does not exist: create ${JSON.stringify(join(folder, 'no'))} first`,
  )
  expect(refusalOf(() => sqlite(join(folder, 'file', 'locks.db')))).toContain('is not in a folder')
})

test('a file that is not a database is refused and left as it is', () => {
  const path = join(tempFolder(), 'notes.txt')
  writeFileSync(path, 'not a database, but long enough to have a header\n'.repeat(100))
  expect(refusalOf(() => sqlite(path))).toBe(`path ${JSON.stringify(path)} is not an SQLite database`)
})

test.each(['', ':memory:', 'a\0b', undefined, null, 7, {}])('the path %j is refused', (path) => {
  expect(refusalOf(() => sqlite(path as string))).toMatch(/^path must /)
})

test('a folder or a file that cannot be written is refused with the reason', async () => {
  const folder = tempFolder()
  const path = join(folder, 'locks.db')
  chmodSync(folder, 0o555)
  // The superuser may write everywhere, so somebody else has to try.
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  expect(await new Child('refusal', path, '', nobody).says()).toMatch(
    /^InvalidArgumentError: path ".*locks.db" is in a folder that cannot be written, .* \(EACCES\)$/,
  )
  chmodSync(folder, 0o777)
  await sqlite(path).close()
  chmodSync(path, 0o444)
  expect(await new Child('refusal', path, '', nobody).says()).toMatch(
    /^InvalidArgumentError: path ".*locks.db" cannot be read and written \(EACCES\)$/,
  )
})

test('two names of one file are one store', async () => {
  const folder = tempFolder()
  mkdirSync(join(folder, 'real'))
  symlinkSync(join(folder, 'real'), join(folder, 'link'))
  const one = sqlite(join(folder, 'real', 'locks.db'))
  const other = sqlite(join(folder, 'link', 'locks.db'))
  onTestFinished(() => one.close())
  onTestFinished(() => other.close())
  const told = new Promise((resolve) => other.notices(resolve))
  const claim = claimOf('k')
  await ask(one, claim)
  expect((await ask(other, claimOf('k'))).kind).toBe('blocked')
  await one.release([claim])
  expect(await told).toMatchObject({ kind: 'granted' })
})

const MOUNTS = `
22 27 0:21 / / rw - ext4 /dev/vda rw
40 22 0:50 / /FOLDER rw - virtiofs share rw
41 22 0:51 / /FOLDER/other rw - fuse.sshfs host:/x rw
`

test.each([
  ['nfs', 0x6969],
  ['cifs', 0xff534d42],
  ['cifs', 0xff534d42 | 0],
  ['9p', 0x01021997],
  ['virtiofs', 0x65735546],
  ['ceph', 0x00c36400],
])('%s is refused unless the caller says that it is safe', async (name, type) => {
  const path = join(tempFolder(), 'locks.db')
  const folder = dirname(path)
  const probe = { typeOf: () => type, mounts: () => MOUNTS.replaceAll('/FOLDER', folder) }
  expect(() => openSqlite({ path }, { probe })).toThrow(UnsupportedError)
  expect(() => openSqlite({ path }, { probe })).toThrow(`${JSON.stringify(folder)} is on ${name}, where`)
  await openSqlite({ path, allowUnsafeFileSystem: true }, { probe }).close()
})

test('a fuse file system is refused even if its name is unknown', () => {
  const path = join(tempFolder(), 'locks.db')
  const mounts = () => {
    throw new Error('no /proc')
  }
  expect(() => openSqlite({ path }, { probe: { typeOf: () => 0x65735546, mounts } })).toThrow(/ is on fuse, /)
})

test.each([0xef53, 0x9123683e, 0x58465342, 0x01021994, 0x794c7630, null])(
  'local file systems are accepted (%s)',
  async (type) => {
    const path = join(tempFolder(), 'locks.db')
    await openSqlite({ path }, { probe: { typeOf: () => type, mounts: () => '' } }).close()
  },
)
