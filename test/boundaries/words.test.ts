import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { pathsOf, ROOT } from './source.ts'

/** Names of an older vocabulary, with the word that the field has for them. */
const OLD_WORDS: Readonly<Record<string, string>> = {
  Courier: 'StoreClient',
  Pursuit: 'Acquisition',
  Soloist: 'Waiter',
  Cohort: 'RenewalBatch',
  Abandoned: 'CleanupQueue',
  Letter: 'Notification',
  Hearer: 'Listener',
  Mailbox: 'Inbox',
  Desk: 'StoreContext',
  Crowd: 'ContendedKeys',
  Lane: 'NodeConnection',
  Debts: 'PendingReleases',
  Assembly: 'Nodes',
  Manners: 'ProtocolChecker',
  Weather: 'FaultWindows',
  Visitor: 'LockClient',
}

interface Declared {
  readonly name: string
  readonly path: string
}

/** Classes, interfaces and types that a file exports and declares itself. */
function typesIn(path: string, text: string): Declared[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  return file.statements.flatMap((statement) => {
    const isType =
      ts.isClassDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isTypeAliasDeclaration(statement)
    if (!isType || statement.name === undefined) return []
    const exported = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
    return exported === true ? [{ name: statement.name.text, path }] : []
  })
}

const declared = pathsOf().flatMap((path) => typesIn(path, readFileSync(new URL(path, ROOT), 'utf8')))

/** Files that two stores have in common by name: `src/stores/etcd/queue.ts` and `src/stores/zookeeper/queue.ts`. */
function meaningOf(path: string): string {
  return path.startsWith('src/stores/') ? `store: ${posix.basename(path)}` : path
}

function ambiguous(all: readonly Declared[]): string[] {
  const meanings = new Map<string, Map<string, string>>()
  for (const { name, path } of all) {
    const paths = meanings.get(name) ?? new Map<string, string>()
    meanings.set(name, paths.set(meaningOf(path), path))
  }
  return [...meanings]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => `${name}: ${[...paths.values()].join(', ')}`)
}

function old(all: readonly Declared[]): string[] {
  return all.flatMap(({ name, path }) =>
    Object.entries(OLD_WORDS)
      .filter(([word]) => new RegExp(`(?:^|[a-z])${word}(?![a-z])|(?:^|[a-z])${word}s(?![a-z])`).test(name))
      .map(([word, better]) => `${path}: ${name}; for ${word} say ${better}`),
  )
}

describe('words', () => {
  it('have one meaning: no two rooms export types of the same name', () => {
    expect(declared.length).toBeGreaterThan(300)
    expect(ambiguous(declared)).toEqual([])
  })

  it('are those of the field', () => {
    expect(old(declared)).toEqual([])
  })

  it('may mean the same in two stores that have the same files', () => {
    const path = (store: string) => `src/stores/${store}/queue.ts`
    const twice = ['etcd', 'zookeeper'].map((store) => ({ name: 'Queue', path: path(store) }))
    expect(ambiguous(twice)).toEqual([])
    expect(ambiguous([...twice, { name: 'Queue', path: 'src/core/queue.ts' }])).toHaveLength(1)
  })

  it('are found inside of longer names', () => {
    const names = ['LetterBox', 'KeyLetter', 'Courier', 'Newsletter', 'crowded']
    const found = old(names.map((name) => ({ name, path: 'x.ts' })))
    expect(found.map((line) => /: (\w+);/.exec(line)?.[1])).toEqual(['LetterBox', 'KeyLetter', 'Courier'])
  })
})
