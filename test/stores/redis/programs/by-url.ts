import { connect } from '../../../../src/index.ts'

/** Takes one lock at the store of a URL, and says that it had it. */
const [, , url = ''] = process.argv
try {
  const locks = await connect(url)
  const token = await locks.using('by url', async (lease) => lease.token)
  await locks.close()
  console.log(typeof token)
} catch (error) {
  console.log((error as { code?: string }).code, (error as Error).message)
}
