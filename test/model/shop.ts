import type { Cells, Deal, DealAnswer, Reading, StockHead } from '../../src/model/index.ts'
import type { Model } from './explore.ts'

/** A stock in the memory of a test: every step at once, and nothing ever lost. */
export class ModelShop implements Cells {
  /** The cells that the last deal read and wrote. */
  touched = 0
  private readonly model: Pick<Model, 'hasExpired' | 'returnExpired' | 'trade'>
  private readonly cells = new Map<string, string>()
  private head: StockHead | null = null
  private ids = 0

  constructor(model: Pick<Model, 'hasExpired' | 'returnExpired' | 'trade'>) {
    this.model = model
  }

  set(name: string, value: unknown): void {
    this.touched++
    this.cells.set(name, JSON.stringify(value))
  }

  page(name: string, units: readonly string[]): void {
    if (this.cells.has(name)) throw new Error(`the page ${name} is written twice`)
    this.set(name, units)
  }

  newId(): string {
    return String(++this.ids)
  }

  trade(deal: Deal, wallMs = 0): DealAnswer {
    this.touched = 0
    while (this.head !== null && this.model.hasExpired(this.head, wallMs))
      this.head = this.finish(this.model.returnExpired(this.head, this, wallMs))
    const { head, answer } = this.finish(this.model.trade(this.head, deal, this, wallMs))
    this.head = head
    return answer
  }

  /** How large the head is, and the largest cell. */
  sizes(): { head: number; cell: number } {
    const cell = Math.max(...[...this.cells.values()].map((text) => text.length))
    return { head: JSON.stringify(this.head).length, cell }
  }

  private finish<T>(reading: Reading<T>): T {
    let step = reading.next()
    while (step.done !== true) {
      this.touched += step.value.length
      step = reading.next(step.value.map((name) => JSON.parse(this.cells.get(name) ?? 'null')))
    }
    return step.value
  }
}
