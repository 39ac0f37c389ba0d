import { describe } from 'vitest'
import { stock } from './properties/stock.ts'
import { prove } from './property.ts'

describe('stock', () => {
  prove(stock)
})
