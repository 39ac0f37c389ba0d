import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cyclesIn, isStillIn } from '../../../src/observe/deadlock/cycles.ts'
import { type Graph, type GraphLock, type GraphWait, stuckIn } from '../../../src/observe/deadlock/graph.ts'
import { ModelWorld, type Wish, wishes } from './world.ts'

const SEED = process.env.FC_SEED === 'random' ? {} : { seed: 42 }
const RUNS = { numRuns: Number(process.env.FC_RUNS ?? 1500), ...SEED }

function worldOf(all: readonly Wish[]): ModelWorld {
  const world = new ModelWorld()
  for (const wish of all) world.ask(wish)
  return world
}

test('exactly the actors are stuck that the lock would never serve, in any order of finishing', () => {
  let stuckCases = 0
  fc.assert(
    fc.property(wishes, (all) => {
      const world = worldOf(all)
      const stuck = [...stuckIn(world.graph()).keys()].sort()
      if (stuck.length > 0) stuckCases++
      expect(stuck).toEqual(world.leftover())
    }),
    RUNS,
  )
  expect(stuckCases).toBeGreaterThan(50)
})

test('there is a cycle if and only if an actor is stuck, and each of its edges is real', () => {
  fc.assert(
    fc.property(wishes, (all) => {
      const stuck = stuckIn(worldOf(all).graph())
      const cycles = cyclesIn(stuck)
      expect(cycles.length > 0).toBe(stuck.size > 0)
      for (const cycle of cycles) {
        expect(isStillIn(stuck, cycle)).toBe(true)
        expect(new Set(cycle.map(({ from }) => from)).size).toBe(cycle.length)
        for (const [place, { from }] of cycle.entries()) expect(cycle.at(place - 1)?.to).toBe(from)
      }
    }),
    RUNS,
  )
})

test('every observer of the same state finds the same cycle, in any order of reading', () => {
  fc.assert(
    fc.property(wishes, (all) => {
      const { locks, waits } = worldOf(all).graph()
      const other: Graph = {
        locks: new Map([...locks].reverse()),
        waits: new Map([...waits].reverse()),
      }
      expect(cyclesIn(stuckIn(other))).toEqual(cyclesIn(stuckIn({ locks, waits })))
    }),
    RUNS,
  )
})

const EXCLUSIVE = { kind: 'exclusive' } as const
const SHARED = { kind: 'shared' } as const
const permits = (weight: number) => ({ kind: 'permits', limit: 2, weight }) as const

function graphOf(locks: Record<string, GraphLock>, waits: readonly GraphWait[]): Graph {
  return { locks: new Map(Object.entries(locks)), waits: new Map(waits.map((wait) => [wait.id, wait])) }
}

function stuckOf(locks: Record<string, GraphLock>, waits: readonly GraphWait[]): string[] {
  return [...stuckIn(graphOf(locks, waits)).keys()].sort()
}

const wait = (id: string, key: string, mode: GraphWait['mode'] = EXCLUSIVE, positions: number[] = []) => ({
  id,
  key,
  mode,
  positions,
})
const held = (id: string, mode: GraphWait['mode'], ...claims: string[][]) => ({ id, mode, claims })

test('a writer waits for every reader: one that is stuck is enough', () => {
  const a = { holds: [held('r1', SHARED, []), held('r2', SHARED, ['w2'])], queue: [] }
  const b = { holds: [held('x', EXCLUSIVE, ['w1'])], queue: [] }
  expect(stuckOf({ a, b }, [wait('w1', 'a'), wait('w2', 'b')])).toEqual(['w1', 'w2'])
})

test('a permit may come from any holder: one that works is enough', () => {
  const b = { holds: [held('x', EXCLUSIVE, ['w1'])], queue: [] }
  const waits = [wait('w1', 's', permits(1)), wait('w2', 'b'), wait('w3', 'b')]
  const both = { holds: [held('p1', permits(1), ['w2']), held('p2', permits(1), ['w3'])], queue: [] }
  const one = { holds: [held('p1', permits(1), ['w2']), held('p2', permits(1), [])], queue: [] }
  expect(stuckOf({ s: both, b }, waits)).toEqual(['w1', 'w2', 'w3'])
  expect(stuckOf({ s: one, b }, waits)).toEqual([])
})

test('an actor with several waits goes on when one of them ends', () => {
  const a = { holds: [held('x', EXCLUSIVE, ['w1', 'w2'])], queue: [] }
  const b = { holds: [held('y', EXCLUSIVE, ['w3'])], queue: [] }
  const c = { holds: [held('z', EXCLUSIVE, [])], queue: [] }
  expect(stuckOf({ a, b, c }, [wait('w1', 'b'), wait('w2', 'c'), wait('w3', 'a')])).toEqual([])
})

test('a reader that comes again behind a waiting writer waits for itself', () => {
  const a = { holds: [held('r', SHARED, ['again'])], queue: [{ id: 'writer', mode: EXCLUSIVE }] }
  const again = wait('again', 'a', SHARED, [1])
  const cycles = cyclesIn(stuckIn(graphOf({ a }, [again])))
  expect(cycles.map((cycle) => cycle.map(({ from, hold }) => [from, hold]))).toEqual([
    [
      ['again', null],
      ['writer', 'r'],
    ],
  ])
  expect(stuckOf({ a: { ...a, queue: [] } }, [wait('again', 'a', SHARED, [0])])).toEqual([])
})

test('the hold of a named owner is over when the last of its claims is', () => {
  const a = { holds: [held('o', EXCLUSIVE, [], ['w1'])], queue: [] }
  const b = { holds: [held('x', EXCLUSIVE, ['w2'])], queue: [] }
  expect(stuckOf({ a, b }, [wait('w1', 'b'), wait('w2', 'a')])).toEqual(['w1', 'w2'])
})

test('a waiter behind a deadlock is stuck, but not a member of the cycle', () => {
  const a = { holds: [held('x', EXCLUSIVE, ['w1'])], queue: [] }
  const b = { holds: [held('y', EXCLUSIVE, ['w2'])], queue: [] }
  const stuck = stuckIn(graphOf({ a, b }, [wait('w1', 'b'), wait('w2', 'a'), wait('w3', 'a')]))
  expect([...stuck.keys()]).toEqual(['w1', 'w2', 'w3'])
  expect(cyclesIn(stuck).map((cycle) => cycle.map(({ from }) => from))).toEqual([['w1', 'w2']])
})
