import { transformSync } from 'esbuild'
import ts from 'typescript'

/** A compiler, set to standard decorators or to those of `experimentalDecorators`. */
export interface Compiler {
  readonly name: string
  readonly legacy: boolean
  compile(source: string): string
}

export const COMPILERS: readonly Compiler[] = [true, false].flatMap((legacy) => {
  const kind = legacy ? 'experimental' : 'standard'
  const compilerOptions = { experimentalDecorators: legacy, emitDecoratorMetadata: legacy }
  const options = { ...compilerOptions, module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 }
  return [
    {
      name: `tsc, ${kind} decorators`,
      legacy,
      compile: (source: string) => ts.transpileModule(source, { compilerOptions: options }).outputText,
    },
    {
      name: `esbuild, ${kind} decorators`,
      legacy,
      compile: (source: string) =>
        transformSync(source, {
          loader: 'ts',
          format: 'cjs',
          target: 'es2022',
          tsconfigRaw: { compilerOptions },
        }).code,
    },
  ]
})

/** Runs a TypeScript source and returns its exports; what it imports is given. */
export function runCompiled<T>(compiler: Compiler, source: string, modules: Record<string, unknown>): T {
  const exported = { exports: {} as T }
  const load = (name: string): unknown => modules[name]
  new Function('module', 'exports', 'require', compiler.compile(source))(exported, exported.exports, load)
  return exported.exports
}
