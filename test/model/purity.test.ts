import { describe } from 'vitest'
import { purity } from './properties/purity.ts'
import { prove } from './property.ts'

describe('the transition function', () => {
  prove(purity)
})
