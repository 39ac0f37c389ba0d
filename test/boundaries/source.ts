import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

/** A file of the package, with what it reaches for. Paths are relative to the project, with forward slashes. */
export interface Source {
  readonly path: string
  /** Modules it names: a path for a file of the project, else the module's own name. Types count as well. */
  readonly imports: readonly string[]
  /** Packages that it loads while it runs, if they are there. */
  readonly loads: readonly string[]
  /** Globals and members by which time, chance and waiting could come in, such as `Date.now` or `setTimeout`. */
  readonly uses: readonly string[]
}

export const ROOT = new URL('../../', import.meta.url)

const CLOCKS = new Set([
  'Date',
  'Date.now',
  'Math.random',
  'process.hrtime',
  'process.uptime',
  'Atomics.wait',
])
const GLOBALS = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'performance',
  'crypto',
  'queueMicrotask',
])

/** The folders that are built into the package: `src`, and the generations of locks that `holdfast lab` plays. */
const FOLDERS = ['src/', 'lab/generations/']

export function sources(): Source[] {
  return pathsOf().map((path) => sourceOf(path, readFileSync(fileURLToPath(new URL(path, ROOT)), 'utf8')))
}

/** The files of the package, relative to the project. */
export function pathsOf(): string[] {
  const filesOf = (folder: string): string[] =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${folder}${file.replaceAll('\\', '/')}`,
    )
  return FOLDERS.flatMap(filesOf)
    .filter((path) => path.endsWith('.ts'))
    .sort()
}

export function sourceOf(path: string, text: string): Source {
  const imports = new Set<string>()
  const loads = new Set<string>()
  const uses = new Set<string>()
  const visit = (node: ts.Node): void => {
    const name = moduleNamedBy(node)
    if (name !== null) (isLoad(node, name) ? loads : imports).add(resolved(path, name))
    const use = useOf(node)
    if (use !== null) uses.add(use)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true))
  return { path, imports: [...imports], loads: [...loads], uses: [...uses] }
}

/** The module of an import, an export from, a dynamic import, a require, an optional peer, or a type's import(). */
function moduleNamedBy(node: ts.Node): string | null {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return textOf(node.moduleSpecifier)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && !isTypeOfPeer(node))
    return textOf(node.argument.literal)
  if (!ts.isCallExpression(node)) return null
  const { expression } = node
  const isImport = expression.kind === ts.SyntaxKind.ImportKeyword
  const isLoader = ts.isIdentifier(expression) && /^(?:require|optionalPeer)$/.test(expression.text)
  return isImport || isLoader ? textOf(node.arguments[0]) : null
}

/** `optionalPeer<typeof import('x')>('x')` types what it loads; the type goes no further. */
function isTypeOfPeer(node: ts.Node): boolean {
  for (let parent = node.parent; ts.isTypeNode(parent) || ts.isTypeElement(parent); parent = parent.parent)
    node = parent
  const call = node.parent
  return ts.isCallExpression(call) && call.expression.getText() === 'optionalPeer'
}

/** A file of the project that is loaded late is still a file of the project. */
function isLoad(node: ts.Node, name: string): boolean {
  return ts.isCallExpression(node) && !/^(?:\.|node:)/.test(name)
}

function textOf(node: ts.Node | undefined): string | null {
  return node !== undefined && ts.isStringLiteralLike(node) ? node.text : null
}

function resolved(path: string, name: string): string {
  return name.startsWith('.') ? posix.join(posix.dirname(path), name) : name
}

function useOf(node: ts.Node): string | null {
  if (ts.isPropertyAccessExpression(node)) {
    const member = `${node.expression.getText()}.${node.name.text}`.replace(/^globalThis\./, '')
    if (CLOCKS.has(member) || GLOBALS.has(member)) return member
    // Waiting by the runtime is allowed, but not to everybody.
    return node.name.text === 'setTimer' ? 'setTimer' : null
  }
  // `new Date(ms)` only converts; without an argument it reads the clock.
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
    const isBare = node.arguments === undefined || node.arguments.length === 0
    if (isBare && ts.isIdentifier(node.expression) && node.expression.text === 'Date') return 'Date'
  }
  return ts.isIdentifier(node) && GLOBALS.has(node.text) && isReference(node) ? node.text : null
}

/** True if an identifier stands for a global, not for a member, a key or a declaration of the same name. */
function isReference(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return false
  if (ts.isPropertyAssignment(parent) && parent.name === node) return false
  return !(ts.isMethodDeclaration(parent) || ts.isPropertySignature(parent) || ts.isMethodSignature(parent))
}
