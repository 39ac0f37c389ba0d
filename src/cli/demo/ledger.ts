import type { FromWorker, Refusal, Sale } from './messages.ts'

/** An incident of a worker during the sale. */
export interface Incident {
  readonly kind: 'killed' | 'paused' | 'woken' | 'tookOver' | 'refused'
  readonly worker: number
  readonly atMs: number
  readonly text: string
}

/** The organiser's own observations: every promise made to a buyer, and every incident. */
export class SaleLedger {
  readonly sales: Sale[] = []
  readonly refusals: Refusal[] = []
  readonly incidents: Incident[] = []
  turnedAway = 0
  private readonly watchers = new Set<() => void>()
  private readonly onIncident: (incident: Incident) => void

  constructor(onIncident: (incident: Incident) => void) {
    this.onIncident = onIncident
  }

  receive(message: FromWorker): void {
    if (message.kind === 'sold') this.sell(message)
    else if (message.kind === 'refused') this.refuse(message)
    else if (message.kind === 'turnedAway') this.turnedAway += message.count
    for (const watcher of [...this.watchers]) watcher()
  }

  note(incident: Incident): void {
    this.incidents.push(incident)
    this.onIncident(incident)
  }

  /** Since when a dead or paused worker holds the lock, or null. */
  get heldByNobody(): number | null {
    const last = this.incidents.at(-1)
    return last?.kind === 'killed' || last?.kind === 'paused' ? last.atMs : null
  }

  /** Settles when so many units have been sold. */
  sold(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (this.sales.length < count) return
        this.watchers.delete(look)
        resolve()
      }
      this.watchers.add(look)
      look()
    })
  }

  private sell({ worker, unit, token, fromMs, toMs }: Sale): void {
    this.sales.push({ worker, unit, token, fromMs, toMs })
    if (this.heldByNobody === null) return
    const text = `its lease has run out; worker ${worker} takes over and sells unit ${unit}`
    this.note({ kind: 'tookOver', worker, atMs: toMs, text })
  }

  private refuse({ worker, unit, token, fence, atMs }: Refusal): void {
    this.refusals.push({ worker, unit, token, fence, atMs })
    const text = `its late write is refused: token ${tailOf(token, fence)} is behind ${tailOf(fence, token)}`
    this.note({ kind: 'refused', worker, atMs, text })
  }
}

/** A token without the digits that it shares with another. */
function tailOf(token: string, other: string): string {
  const at = [...token].findIndex((digit, index) => digit !== other[index])
  return at > 0 ? `…${token.slice(at)}` : token
}
