import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadBinding } from '../../../src/stores/sqlite/binding.ts'
import { TTL_MS } from '../settings.ts'
import type { StartWorld } from './world.ts'

/** A file that the processes of this machine share. There is no server and no network, so that what can fail is others who use it. */
export const sqlite: StartWorld = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-faults-'))
  const path = join(folder, 'locks.db')
  const { DatabaseSync } = loadBinding()
  /** A connection of somebody else, for as long as it does something. */
  const open = () => {
    const database = new DatabaseSync(path)
    database.exec('PRAGMA busy_timeout = 3000')
    return database
  }
  const mailboxes = `${path}-wake`
  return {
    ports: [],
    urlBy: () => `sqlite:${path}`,
    nemeses: [
      {
        kind: 'file locked for writing',
        lastsMs: [TTL_MS * 0.1, TTL_MS * 1.6],
        strike() {
          const database = open()
          database.exec('BEGIN IMMEDIATE')
          return {
            target: 'all',
            heal() {
              database.exec('ROLLBACK')
              database.close()
            },
          }
        },
      },
      {
        kind: 'log written back',
        lastsMs: [0, 0],
        strike() {
          const database = open()
          database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all()
          database.close()
          return { target: 'all', heal: () => {} }
        },
      },
      {
        kind: 'file read for long',
        lastsMs: [TTL_MS * 0.5, TTL_MS * 1.6],
        strike() {
          const database = open()
          database.exec('BEGIN')
          database.prepare('SELECT count(*) FROM sqlite_schema').all()
          return {
            target: 'all',
            heal() {
              database.exec('COMMIT')
              database.close()
            },
          }
        },
      },
      {
        kind: 'mailboxes removed',
        lastsMs: [0, 0],
        strike() {
          rmSync(mailboxes, { recursive: true, force: true })
          return { target: 'all', heal: () => {} }
        },
      },
    ],
    async stop() {
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
