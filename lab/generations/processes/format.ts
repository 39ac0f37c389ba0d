import type { ActorEvent } from './history.ts'
import type { FromActor } from './messages.ts'

/** A process' message as an event; null for one that is between it and the stock. */
export function eventOf(actor: string, message: FromActor): ActorEvent | null {
  switch (message.kind) {
    case 'asked':
      return { kind: 'asked', actor, atMs: message.atMs, text: 'asks for the key' }
    case 'took': {
      const { atMs, id, command, reply } = message
      return { kind: 'took', actor, atMs, id, command, reply, text: `has the key: ${command} -> ${reply}` }
    }
    case 'gaveUp':
      return { kind: 'gaveUp', actor, atMs: message.atMs, text: 'gives up: the key was never free' }
    case 'stands':
      return { kind: 'stood', actor, atMs: message.atMs, text: 'stands still' }
    case 'lost': {
      const text = 'knows that its lease has ended, and goes on nevertheless'
      return { kind: 'lost', actor, atMs: message.atMs, sinceMs: message.sinceMs, text }
    }
    case 'left':
      return { kind: 'left', actor, atMs: message.atMs, text: 'is done' }
    case 'released': {
      const { atMs, command, reply } = message
      return { kind: 'released', actor, atMs, command, reply, text: `gives it back: ${command} -> ${reply}` }
    }
    default:
      return null
  }
}
