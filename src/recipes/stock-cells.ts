import type { Records, RecordWrite } from '../core/store.ts'
import type { RecordState, StockHead, WriteAnswer } from '../model/index.ts'
import { cellKey, formatCell, type HeadRecord, parseCell } from './stock-format.ts'

const MOST_KNOWN = 2000
const PAGES_AT_ONCE = 50
/** A removed cell stays as an empty one for a day, so that a late writer cannot restore its last value. */
const GONE_MS = 86_400_000
/** The cells outlast their stock a little, because clocks of two processes differ. */
const SLACK_MS = 600_000

interface Known {
  readonly version: number | null
  readonly value: unknown
}

/** The cells of a stock as records, each with the revision that wrote it: an older one never replaces a newer one. */
export class StockCells {
  private readonly records: Records
  /** As of the known head. */
  private readonly known = new Map<string, Known>()
  /** The number of cells read. */
  reads = 0

  constructor(records: Records) {
    this.records = records
  }

  readonly read = async (id: string, names: readonly string[]): Promise<readonly unknown[]> => {
    const unknown = names.filter((name) => !this.known.has(name))
    if (unknown.length > 0) {
      this.reads += unknown.length
      const keys = unknown.map((name) => cellKey(id, name))
      const states = (await this.records.readAll?.(keys)) ?? (await this.readEach(keys))
      for (const [index, name] of unknown.entries()) {
        const state = states[index] ?? null
        const value = state === null ? null : parseCell(state.value).value
        this.known.set(name, { version: state?.version ?? null, value })
      }
    }
    return names.map((name) => this.known.get(name)?.value ?? null)
  }

  forget(): void {
    this.known.clear()
  }

  /** Writes the cells in the head's journal. They may be written already, and later steps may have followed. */
  async write({ head, journal }: HeadRecord, wallMs: number): Promise<void> {
    if (this.known.size > MOST_KNOWN) this.known.clear()
    let open = Object.entries(journal).map(([name, { value, untilMs }]) => ({
      name,
      value,
      write: {
        key: cellKey(head.id, name),
        value: formatCell({ revision: head.revision, value }),
        ttlMs: this.ttlOf(head, value === null ? wallMs + GONE_MS : untilMs, wallMs),
        condition: conditionOf(this.known.get(name)?.version ?? null),
      },
    }))
    while (open.length > 0) {
      const writes = open.map(({ write }) => write)
      const answers = (await this.records.writeAll?.(writes)) ?? (await this.writeEach(writes))
      open = open.flatMap((cell, index) => {
        const answer = answers[index] as WriteAnswer
        const current = answer.kind === 'written' ? null : answer.current
        const revision = current === null ? 0 : parseCell(current.value).revision
        if (answer.kind === 'written')
          this.known.set(cell.name, { version: answer.version, value: cell.value })
        else if (revision === head.revision)
          this.known.set(cell.name, { version: current?.version ?? null, value: cell.value })
        else if (revision > head.revision) this.known.delete(cell.name)
        else return [{ ...cell, write: { ...cell.write, condition: conditionOf(current?.version ?? null) } }]
        return []
      })
    }
  }

  async writePages(
    head: StockHead,
    pages: ReadonlyMap<string, readonly string[]>,
    wallMs: number,
  ): Promise<void> {
    const ttlMs = this.ttlOf(head, null, wallMs)
    await this.inPortions(pages, ([name, units]) => {
      const text = formatCell({ revision: head.revision, value: units })
      return this.records.write(cellKey(head.id, name), text, ttlMs, { kind: 'always' })
    })
  }

  /** No reader has seen them, because their step did not happen. */
  async removePages(head: StockHead, pages: ReadonlyMap<string, readonly string[]>): Promise<void> {
    await this.inPortions(pages, ([name]) => this.records.remove(cellKey(head.id, name), { kind: 'always' }))
  }

  private async inPortions(
    pages: ReadonlyMap<string, readonly string[]>,
    work: (page: [string, readonly string[]]) => unknown,
  ): Promise<void> {
    const all = [...pages]
    for (let first = 0; first < all.length; first += PAGES_AT_ONCE)
      await Promise.all(all.slice(first, first + PAGES_AT_ONCE).map(work))
  }

  private readEach(keys: readonly string[]): Promise<(RecordState | null)[]> {
    return Promise.all(keys.map((key) => this.records.read(key)))
  }

  private writeEach(writes: readonly RecordWrite[]): Promise<WriteAnswer[]> {
    return Promise.all(
      writes.map(({ key, value, ttlMs, condition }) => this.records.write(key, value, ttlMs, condition)),
    )
  }

  private ttlOf({ endsAtMs }: StockHead, untilMs: number | null, wallMs: number): number | null {
    if (endsAtMs === null && untilMs === null) return null
    const end = Math.min(endsAtMs ?? Number.POSITIVE_INFINITY, untilMs ?? Number.POSITIVE_INFINITY)
    return Math.max(1, Math.ceil(end - wallMs)) + SLACK_MS
  }
}

function conditionOf(version: number | null): RecordWrite['condition'] {
  return version === null ? { kind: 'absent' } : { kind: 'version', version }
}
