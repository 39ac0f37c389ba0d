import type { Consumer } from './install.ts'

/** Says what it could lock: in memory, and in the stores that its arguments name. */
const PROGRAM = `
async function main() {
  const found = { memory: await turns(createLocks()) }
  for (const url of process.argv.slice(2))
    found[url.split(':')[0]] = await connect(url).then(turns, ({ code, message }) => code + ': ' + message)
  console.log(JSON.stringify(found))
}

async function turns(locks) {
  let inside = 0
  const turn = () => locks.using('order:42', async ({ token }) => {
    if (++inside > 1) throw new Error('two at once')
    await new Promise(setImmediate)
    inside--
    return typeof token
  })
  const tokens = await Promise.all([turn(), turn()])
  // Its code is loaded now.
  await locks.doctor({ watch: 0 })
  await locks.close()
  return tokens.join()
}

main()
`

/** The answer of the program for a store in which two turns excluded each other. */
export const LOCKED = 'bigint,bigint'

export const PROGRAMS = { import: 'import.mjs', require: 'require.cjs' } as const

export function writePrograms(consumer: Consumer): void {
  consumer.write(PROGRAMS.import, `import { connect, createLocks } from 'holdfast'${PROGRAM}`)
  consumer.write(PROGRAMS.require, `const { connect, createLocks } = require('holdfast')${PROGRAM}`)
}
