import { memory, memoryWorld } from 'holdfast/memory'
import { conform } from './conform.ts'

const world = memoryWorld()

conform({
  name: 'memory',
  open: () => memory({ world }),
  skips: [
    {
      topic: 'waiting and fairness',
      case: 'a grant that is never confirmed is an offer, and goes to the next',
      reason: 'a waiter of this process cannot die apart from it, so an offer lives as long as any grant',
    },
  ],
})
