// Builds dist/ afresh: ESM and CJS with their types, and the command.
import { chmodSync, rmSync } from 'node:fs'
import { build } from 'tsdown'

rmSync('dist', { recursive: true, force: true })
await build({ logLevel: process.argv.includes('--verbose') ? 'info' : 'warn' })
chmodSync('dist/cli/main.js', 0o755)
