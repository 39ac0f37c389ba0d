// Shows: a lease that is released when its block ends, however it ends. Node 24 runs `await using` as it is; for older
//        ones TypeScript, tsx and esbuild translate it.
// Run:   node --import tsx examples/await-using.ts
// Prints:
//   inside: 1 held
//   the work failed: out of paper
//   outside: 0 held
import { createLocks } from 'holdfast'

await using locks = createLocks()

try {
  await using lease = await locks.acquire('printer', { wait: '2s' })
  lease.assertHeld()
  console.log(`inside: ${locks.local().held} held`)
  throw new Error('out of paper')
} catch (error) {
  console.log(`the work failed: ${(error as Error).message}`)
}
console.log(`outside: ${locks.local().held} held`)
