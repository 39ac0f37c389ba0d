import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StaleTokenError } from '../../index.ts'

export interface Stock {
  readonly left: number
  /** The sold units, in the order of the sales. */
  readonly sold: readonly number[]
  /** The highest token seen. */
  readonly fence: string
}

/** The stock of the sale: a plain file that every process reads and writes. */
export class StockFile {
  private readonly file: string

  constructor(folder: string) {
    this.file = join(folder, 'stock.json')
  }

  read(): Stock {
    return JSON.parse(readFileSync(this.file, 'utf8')) as Stock
  }

  /** By a rename, so that a reader never sees half of it: the errors of the sale without a lock are not the file's. */
  write(stock: Stock): void {
    const fresh = `${this.file}.${process.pid}`
    writeFileSync(fresh, JSON.stringify(stock))
    renameSync(fresh, this.file)
  }

  /** Reads for a holder. It raises the fence, too: an older holder must not write after a newer one has read. */
  readFenced(token: bigint): Stock {
    const stock = this.admit(token)
    const raised = { ...stock, fence: String(token) }
    this.write(raised)
    return raised
  }

  /** Throws `StaleTokenError` if a newer holder was here. A database does this in one statement. */
  writeFenced(token: bigint, stock: Stock): void {
    this.admit(token)
    this.write(stock)
  }

  private admit(token: bigint): Stock {
    const stock = this.read()
    if (token < BigInt(stock.fence)) throw new StaleTokenError(`token ${token} is behind ${stock.fence}`)
    return stock
  }
}

export function fullStock(units: number): Stock {
  return { left: units, sold: [], fence: '0' }
}

/** The next unit to sell. */
export function nextUnit({ left }: Stock, units: number): number {
  return units - left + 1
}

export function withoutOne(stock: Stock, unit: number): Stock {
  return { ...stock, left: stock.left - 1, sold: [...stock.sold, unit] }
}
