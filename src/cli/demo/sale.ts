import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Workers } from './crew.ts'
import { strike } from './faults.ts'
import { SaleLedger } from './ledger.ts'
import { SALE } from './messages.ts'
import { type DemoScreen, fitted, progress } from './screen.ts'
import { fullStock, StockFile } from './stock.ts'
import type { SaleRecord } from './witness.ts'

/** Runs one sale from the opening to the last buyer. */
export async function holdSale(
  guarded: boolean,
  parent: string,
  screen: DemoScreen,
  cancelled: AbortSignal,
): Promise<SaleRecord> {
  const folder = join(parent, guarded ? 'guarded' : 'hasty')
  mkdirSync(folder)
  const stock = new StockFile(folder)
  stock.write(fullStock(SALE.units))
  let startedAtMs = Date.now()
  const ledger = new SaleLedger(({ atMs, text }) => {
    const seconds = `${((atMs - startedAtMs) / 1_000).toFixed(1)} s`.padStart(7)
    screen.line(screen.paint('yellow', fitted(`${seconds}  ${text}`)))
  })
  const crew = new Workers({ folder, guarded }, (message) => ledger.receive(message))
  const stop = (): void => void crew.dismiss()
  cancelled.addEventListener('abort', stop)
  try {
    await crew.open()
    startedAtMs = Date.now()
    screen.follow(() => progress(screen.paint, ledger.sales.length, startedAtMs) + leaseHint(ledger))
    if (guarded) await Promise.race([strike(crew, ledger), crew.ended])
    await crew.ended
    const endedAtMs = Date.now()
    cancelled.throwIfAborted()
    const { sales, refusals, incidents, turnedAway } = ledger
    return { guarded, startedAtMs, endedAtMs, sales, refusals, incidents, turnedAway, stock: stock.read() }
  } finally {
    screen.settle()
    cancelled.removeEventListener('abort', stop)
    await crew.dismiss()
  }
}

/** The reason why nothing moves for a moment. */
function leaseHint({ heldByNobody }: SaleLedger): string {
  if (heldByNobody === null) return ''
  const leftMs = heldByNobody + SALE.ttlMs - Date.now()
  return leftMs > 0 ? `, the lease runs out in ${(leftMs / 1_000).toFixed(1)} s` : ''
}
