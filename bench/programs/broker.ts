import { load } from '../redis/load.ts'
import type { LiveMutexModule } from '../redis/peer-shapes.ts'

/** The server of live-mutex, which brings its own instead of using Redis. */
const { default: library } = await load<{ default: LiveMutexModule }>('live-mutex')
await new library.Broker({ port: Number(process.argv[2]) }).ensure()
process.on('disconnect', () => process.exit())
process.send?.('ready')
