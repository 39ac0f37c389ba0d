// Builds dist/ afresh: ESM and CJS with their types, and the command.
import { chmodSync, rmSync } from 'node:fs'
import { build } from 'tsdown'

rmSync('dist', { recursive: true, force: true })
const level = process.argv.includes('--verbose')
  ? 'info'
  : process.argv.includes('--quiet')
    ? 'error'
    : 'warn'
await build({ logLevel: level })
chmodSync('dist/cli/main.js', 0o755)
