import { RedisError, type Reply } from '../wire/protocol.ts'
import { faultOf, runCommand } from './commands.ts'
import type { Keys } from './keys.ts'

/** The server's state of one connection: its queued commands, and the keys that it watches. */
export class ServerSession {
  private readonly keys: Keys
  private queue: (readonly string[])[] | null = null
  private spoilt = false
  private readonly watched = new Map<string, number>()

  constructor(keys: Keys) {
    this.keys = keys
  }

  answer(words: readonly string[]): Reply {
    switch (words[0]?.toUpperCase()) {
      case 'MULTI':
        this.queue = []
        return 'OK'
      case 'DISCARD':
        this.forget()
        return 'OK'
      case 'WATCH':
        for (const key of words.slice(1)) this.watched.set(key, this.keys.versionOf(key))
        return 'OK'
      case 'EXEC':
        return this.execute()
      default:
        return this.queue === null ? runCommand(this.keys, words) : this.enqueue(this.queue, words)
    }
  }

  private enqueue(queue: (readonly string[])[], words: readonly string[]): Reply {
    const fault = faultOf(words)
    if (fault !== null) {
      this.spoilt = true
      return fault
    }
    queue.push(words)
    return 'QUEUED'
  }

  private execute(): Reply {
    const { queue, spoilt } = this
    const disturbed = [...this.watched].some(([key, version]) => this.keys.versionOf(key) !== version)
    this.forget()
    if (queue === null) return new RedisError('ERR EXEC without MULTI')
    if (spoilt) return new RedisError('EXECABORT Transaction discarded because of previous errors.')
    return disturbed ? null : queue.map((words) => runCommand(this.keys, words))
  }

  private forget(): void {
    this.queue = null
    this.spoilt = false
    this.watched.clear()
  }
}
