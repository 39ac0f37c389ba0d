import type { CliCommand } from './command.ts'
import { EXIT, exitCodeOf } from './exit.ts'
import { messageOf } from './output.ts'

/** A child process of ours: it works by an order, and reports to its parent. */
export function childCommand<Order>(of: string, work: (order: Order) => Promise<void>): CliCommand {
  return {
    help: { usage: `holdfast ${of}`, about: `One process of the ${of}.`, examples: [], options: [] },
    async run([order]) {
      // Without its parent it has nothing to do.
      process.once('disconnect', () => process.exit())
      try {
        await work(JSON.parse(order ?? '{}') as Order)
        return EXIT.ok
      } catch (error) {
        process.send?.({ kind: 'failed', message: messageOf(error) })
        return exitCodeOf(error)
      } finally {
        process.disconnect?.()
      }
    },
  }
}

/** Sends the parent messages of one type. */
export function teller<Message>(): (message: Message) => void {
  return (message) => {
    process.send?.(message)
  }
}
