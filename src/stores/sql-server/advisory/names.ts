import type { SessionServer } from './session-server.ts'

const MOST = 1000

/** The names of keys that were used lately, so that a claim and its release do not hash the key twice. */
export class LockNames {
  private readonly server: SessionServer
  private readonly known = new Map<string, string>()

  constructor(server: SessionServer) {
    this.server = server
  }

  of(key: string): string {
    let name = this.known.get(key)
    if (name === undefined) {
      name = this.server.nameOf(key)
      if (this.known.size >= MOST) this.known.clear()
      this.known.set(key, name)
    }
    return name
  }
}
