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
  sourcemap: true,
  dts: { sourcemap: false },
  // `node:sqlite` exists only with its prefix.
  nodeProtocol: false,
} as const

// All entry points of one format are built together, so that they share one copy of the errors and the core.
export default defineConfig([
  { ...shared, format: 'esm', entry: { ...library, 'cli/main': 'src/cli/main.ts' } },
  { ...shared, format: 'cjs', entry: library },
])
