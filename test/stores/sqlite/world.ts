import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Store, StoreNotice } from '../../../src/core/store.ts'
import type { Claim, ClaimAnswer } from '../../../src/model/index.ts'
import { loadBinding, type SqliteDatabase } from '../../../src/stores/sqlite/binding.ts'
import type { Boot } from '../../../src/stores/sqlite/boot.ts'
import { type Environment, openSqlite } from '../../../src/stores/sqlite/open.ts'
import { FakeRuntime } from '../../../src/testing/fake-runtime.ts'

export const FIRST_BOOT: Boot = { id: 'boot-m', originMs: 5_000_000 }

/** A folder that is gone after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** One file on one machine whose clocks stand still until they are told otherwise. */
export class Machine {
  readonly path: string
  readonly runtime = new FakeRuntime()
  boot: Boot = FIRST_BOOT

  constructor(path = join(tempFolder(), 'locks.db')) {
    this.path = path
  }

  /** The store that a process of this machine opens. */
  open(surroundings: Environment = {}): Store {
    const store = openSqlite({ path: this.path }, { runtime: this.runtime, boot: this.boot, ...surroundings })
    onTestFinished(() => store.close())
    return store
  }

  /** Starts the machine anew: another boot id, and monotonic time from the beginning. */
  restart(id: string | null): void {
    this.boot = { id, originMs: -this.runtime.nowMs() }
  }

  database(): SqliteDatabase {
    return rawDatabase(this.path)
  }
}

/** A second look at the file, past the store. */
export function rawDatabase(path: string): SqliteDatabase {
  const database = new (loadBinding().DatabaseSync)(path)
  onTestFinished(() => database.close())
  return database
}

export async function ask(store: Store, claim: Claim): Promise<ClaimAnswer> {
  const [answer] = await store.attempt([claim])
  if (answer === undefined) throw new Error('no answer')
  if (answer.kind === 'unknown') throw answer.error
  return answer
}

/** Claims and must be granted; returns the token. */
export async function take(store: Store, claim: Claim): Promise<bigint> {
  const answer = await ask(store, claim)
  if (answer.kind !== 'granted' || answer.token === null) throw new Error(`${claim.key} was ${answer.kind}`)
  return answer.token
}

export async function letGo(store: Store, claim: Claim): Promise<string | undefined> {
  return (await store.release([claim]))[0]?.kind
}

/** Collects what a store is told. */
export function noticesOf(store: Store): { all: StoreNotice[]; next(): Promise<StoreNotice> } {
  const all: StoreNotice[] = []
  const waiting: ((notice: StoreNotice) => void)[] = []
  const unread: StoreNotice[] = []
  store.notices((notice) => {
    all.push(notice)
    const first = waiting.shift()
    if (first === undefined) unread.push(notice)
    else first(notice)
  })
  const next = () => {
    const first = unread.shift()
    return first === undefined
      ? new Promise<StoreNotice>((resolve) => waiting.push(resolve))
      : Promise.resolve(first)
  }
  return { all, next }
}
