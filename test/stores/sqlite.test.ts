import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlite } from 'holdfast/sqlite'
import { afterAll } from 'vitest'
import { conform } from './conform.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

conform({ name: 'sqlite', open: () => sqlite(join(folder, 'locks.db')) })
