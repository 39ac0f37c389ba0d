import {
  type Cells,
  cellsOf,
  type Deal,
  type DealAnswer,
  hasExpired,
  type Reading,
  returnExpired,
  type StockHead,
  trade,
} from '../model/index.ts'

export interface Written {
  readonly value: unknown
  /** Wall-clock milliseconds of its expiry; null for the life of the stock. */
  readonly untilMs: number | null
}

/** Reads the cells of the stock with that id. */
export type ReadCells = (id: string, names: readonly string[]) => Promise<readonly unknown[]>

/** The changes of several steps on a stock, before any of them is written. */
export class StockDraft implements Cells {
  head: StockHead | null
  readonly cells = new Map<string, Written>()
  readonly pages = new Map<string, readonly string[]>()
  readonly newId: () => string
  private readonly load: ReadCells
  private readonly wallMs: number

  constructor(head: StockHead | null, wallMs: number, load: ReadCells, newId: () => string) {
    this.head = head
    this.wallMs = wallMs
    this.load = load
    this.newId = newId
  }

  set(name: string, value: unknown, untilMs: number | null = null): void {
    this.cells.set(name, { value, untilMs })
  }

  page(name: string, units: readonly string[]): void {
    this.pages.set(name, units)
  }

  /** True if more holds have expired than one step returns. */
  async returnExpired(): Promise<boolean> {
    if (this.head === null || !hasExpired(this.head, this.wallMs)) return false
    this.head = await this.finish(returnExpired(this.head, this, this.wallMs))
    return hasExpired(this.head, this.wallMs)
  }

  async trade(deal: Deal): Promise<DealAnswer> {
    const { head, answer } = await this.finish(trade(this.head, deal, this, this.wallMs))
    this.head = head
    return answer
  }

  /** Reads together the cells that these deals will need one after the other. */
  async prefetch(deals: readonly Deal[]): Promise<void> {
    if (this.head === null || deals.length < 2) return
    await this.load(this.head.id, [...new Set(deals.flatMap(cellsOf))])
  }

  private async finish<T>(reading: Reading<T>): Promise<T> {
    let step = reading.next()
    while (step.done !== true) {
      const names = step.value
      const missing = names.filter((name) => !this.cells.has(name) && !this.pages.has(name))
      const loaded = missing.length === 0 ? [] : await this.load(this.head?.id ?? '', missing)
      const found = new Map(missing.map((name, index) => [name, loaded[index]]))
      step = reading.next(names.map((name) => this.written(name) ?? found.get(name) ?? null))
    }
    return step.value
  }

  private written(name: string): unknown {
    return this.cells.get(name)?.value ?? this.pages.get(name)
  }
}
