import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import entries from './entries.json' with { type: 'json' }

// Tests import `holdfast` and its subpaths as a user would, and get the sources. Tests of the package use dist/.
const alias = Object.entries(entries).map(([subpath, source]) => ({
  find: new RegExp(`^holdfast${subpath.slice(1)}$`),
  replacement: fileURLToPath(new URL(source, import.meta.url)),
}))

export default defineConfig({
  resolve: { alias },
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most tests wait for a server or a clock: two at a time, also where the default would be one.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ['default'],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary', 'html'],
      reportsDirectory: 'coverage',
    },
  },
})
