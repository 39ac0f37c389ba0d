import type { Runtime } from '../core/runtime.ts'
import type { Records, Soon } from '../core/store.ts'
import { StoreError } from '../errors.ts'
import type { Deal, DealAnswer, RecordCondition, RecordState, StockHead } from '../model/index.ts'
import { StockCells } from './stock-cells.ts'
import { StockDraft } from './stock-draft.ts'
import { formatHead, type HeadRecord, parseHead } from './stock-format.ts'

/** The most queued deals in one write: the head carries their changes. */
const MOST_TOGETHER = 32
const PATIENCE_MS = 5000
const LONGEST_PAUSE_MS = 40
const CROWDED = `others changed the stock for ${PATIENCE_MS} ms, each time before this process could`

/** One step on a stock. */
export type Trader = (deal: Deal) => Soon<DealAnswer>

/** Runs on the store's accelerator if it has one, else over its records. */
export function traderOf(records: Records, runtime: Runtime, key: string): Trader {
  if (records.inventory !== undefined) return (deal) => records.inventory!(key, deal)
  const stock = new StockRecords(records, runtime, key)
  return (deal) => stock.trade(deal)
}

interface Waiting {
  readonly deal: Deal
  readonly resolve: (answer: DealAnswer) => void
  readonly reject: (error: unknown) => void
}

/** The record of the head at the last read or write. */
interface Known {
  readonly version: number | null
  readonly record: HeadRecord | null
}

/**
 * A stock as independent records: a head of constant size, and a cell for every order and buyer. A step happens when the
 * new head replaces the one that the step started from. The head carries a journal of the cells that the step changed;
 * they are written after it, by the process that made the step or by the next reader of the head, and always before the
 * next step. So a crash leaves a step undone or done, and nothing in between.
 */
export class StockRecords {
  private readonly records: Records
  private readonly runtime: Runtime
  private readonly key: string
  private readonly cells: StockCells
  private waiting: Waiting[] = []
  private running = false
  /** Null when it must be read. */
  private known: Known | null = null
  /** Settles when the cells of the known head are written. */
  private settling: Promise<void> = Promise.resolve()

  constructor(records: Records, runtime: Runtime, key: string) {
    this.records = records
    this.runtime = runtime
    this.key = key
    this.cells = new StockCells(records)
  }

  trade(deal: Deal): Promise<DealAnswer> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ deal, resolve, reject })
      if (this.running) return
      this.running = true
      // The requests of one tick travel together.
      this.runtime.defer(() => void this.run())
    })
  }

  private async run(): Promise<void> {
    while (this.waiting.length > 0) {
      const together = this.waiting.splice(0, MOST_TOGETHER)
      try {
        const answers = await this.serve(together.map(({ deal }) => deal))
        for (const [index, { resolve }] of together.entries()) resolve(answers[index] as DealAnswer)
      } catch (error) {
        this.forget()
        for (const { reject } of together) reject(error)
      }
    }
    this.running = false
  }

  private async serve(deals: readonly Deal[]): Promise<readonly DealAnswer[]> {
    const giveUpAtMs = this.runtime.nowMs() + PATIENCE_MS
    for (let losses = 0; this.runtime.nowMs() <= giveUpAtMs; ) {
      await this.settling
      const readNow = this.known === null
      if (readNow) await this.learn(await this.records.read(this.key))
      const known = this.known as Known
      const reads = this.cells.reads
      const wallMs = this.runtime.wallMs()
      const before = livingHead(known, wallMs)
      const draft = new StockDraft(before, wallMs, this.cells.read, () => this.runtime.newId())
      let unfinished = false
      const answers: DealAnswer[] = []
      try {
        unfinished = await draft.returnExpired()
        if (!unfinished) await draft.prefetch(deals)
        if (!unfinished) for (const deal of deals) answers.push(await draft.trade(deal))
      } catch (error) {
        // Cells newer than the head may lack what the head refers to.
        if (await this.isStill(known)) throw error
        continue
      }
      const changed = draft.head !== before || draft.cells.size > 0
      if (!changed && readNow && this.cells.reads === reads) return answers
      if (changed ? await this.commit(known, draft, wallMs) : await this.isStill(known)) {
        if (!unfinished) return answers
      } else if (losses++ > 0) {
        // The first conflict only says that another process was faster; more of them mean contention.
        await this.pause(Math.min(2 ** losses, LONGEST_PAUSE_MS) * this.runtime.random())
      }
    }
    throw new StoreError(CROWDED)
  }

  /** True if the head is unchanged, so that the cells read since belong to it. */
  private async isStill({ version }: Known): Promise<boolean> {
    const state = await this.records.read(this.key)
    if ((state?.version ?? null) === version) return true
    await this.learn(state)
    return false
  }

  /** The cells of another process's head are written before a step builds on them. */
  private async learn(state: RecordState | null): Promise<void> {
    const record = state === null ? null : parseHead(this.key, state.value)
    const known = { version: state?.version ?? null, record }
    this.known = null
    this.cells.forget()
    if (record !== null) await this.cells.write(record, this.runtime.wallMs())
    this.known = known
  }

  /** True if the head was still the one that the draft started from. The outcome is unknown when it throws. */
  private async commit(known: Known, draft: StockDraft, wallMs: number): Promise<boolean> {
    const head: StockHead = { ...(draft.head as StockHead), revision: (draft.head as StockHead).revision + 1 }
    const record: HeadRecord = { head, journal: Object.fromEntries(draft.cells) }
    await this.cells.writePages(head, draft.pages, wallMs)
    const ttlMs = head.endsAtMs === null ? null : head.endsAtMs - wallMs
    const condition: RecordCondition =
      known.version === null ? { kind: 'absent' } : { kind: 'version', version: known.version }
    const answer = await this.records.write(this.key, formatHead(record), ttlMs, condition)
    if (answer.kind === 'refused') {
      await this.cells.removePages(head, draft.pages)
      await this.learn(answer.current)
      return false
    }
    this.known = { version: answer.version, record }
    this.settling = this.cells.write(record, wallMs).catch(() => this.forget())
    return true
  }

  private forget(): void {
    this.known = null
    this.cells.forget()
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, delayMs, false)
    })
  }
}

/** The store may keep the record of a stock a little longer than the stock lasts. */
function livingHead({ record }: Known, wallMs: number): StockHead | null {
  if (record === null) return null
  const { head } = record
  return head.endsAtMs !== null && head.endsAtMs <= wallMs ? null : head
}
