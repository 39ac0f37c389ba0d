import type { Events } from './events.ts'
import type { StoreWarning } from './store.ts'

const told = new Set<string>()

/** Tells a warning to whoever listens; to the user of the process, once, when nobody does. */
export function warn(events: Events, { code, message }: StoreWarning): void {
  if (events.has('warning')) {
    events.emit('warning', { code, message })
    return
  }
  if (told.has(message)) return
  told.add(message)
  process.emitWarning(message, { type: 'HoldfastWarning', code })
}
