import { argsOf } from './args.ts'
import { olderBuild } from './builds.ts'
import { letTakePart } from './older.ts'

const args = argsOf(process.argv.slice(2))
if (args.against !== undefined) letTakePart(olderBuild(args.against, console.error))
// Loaded only now: the tables of contenders are made while they are loaded.
const { command } = await import('./command.ts')
await command(args)
