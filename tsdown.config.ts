import { defineConfig } from 'tsdown'
import entries from './entries.json' with { type: 'json' }

const library = Object.fromEntries(
  Object.entries(entries).map(([subpath, source]) => [subpath === '.' ? 'index' : subpath.slice(2), source]),
)

const shared = {
  platform: 'node',
  target: 'es2022',
  outDir: 'dist',
  fixedExtension: false,
  clean: false,
  // Readable as it is: the maps would be two thirds of the package.
  sourcemap: false,
  dts: { sourcemap: false, compilerOptions: { stripInternal: true } },
  // `AsyncDisposable` is in no library of TypeScript that a user has by default.
  banner: { dts: '/// <reference lib="esnext.disposable" />' },
  // `node:sqlite` exists only with its prefix.
  nodeProtocol: false,
} as const

// Every entry point uses the errors and the checks of options. In one file, a program that needs errors alone would load both.
// What is loaded only when it is asked for must import nothing of the core, or bundlers take the core for needed everywhere.
const outputOptions = {
  // The declarations keep theirs.
  comments: { legal: true, annotation: true, jsdoc: false },
  codeSplitting: {
    groups: [
      { name: 'errors', test: /src\/errors\.ts$/ },
      { name: 'habits', test: /src\/observe\/doctor\/(?:habits|histogram)\.ts$/ },
    ],
  },
}

// All entry points of one format are built together, so that they share one copy of the errors and the core.
export default defineConfig([
  { ...shared, outputOptions, format: 'esm', entry: { ...library, 'cli/main': 'src/cli/main.ts' } },
  { ...shared, outputOptions, format: 'cjs', entry: library },
])
