import { register } from 'node:module'

/**
 * Connects to URLs with the client library that is named, all at once, and says how that ended. Nothing else keeps the
 * process alive: it ends when the stores have left nothing behind.
 */
const [, , library = '', ...urls] = process.argv

// `ioredis6` is installed beside `ioredis`, and `redis` is taken where `ioredis` is absent.
const hooks = `export async function resolve(name, context, next) {
  if (name !== 'ioredis' && name !== 'redis') return next(name, context)
  if ('${library}'.startsWith(name)) return next('${library}', context)
  throw Object.assign(new Error(name + ' is absent'), { code: 'ERR_MODULE_NOT_FOUND' })
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)

const { connect } = await import('../../../../src/index.ts')

async function outcomeOf(url: string): Promise<object> {
  const startedAtMs = performance.now()
  try {
    const locks = await connect(url, { callTimeout: 500 })
    await locks.using('by library', () => {})
    await locks.close()
    return { url, message: 'connected' }
  } catch (error) {
    const { name, code, message } = error as Error & { code?: string }
    return { url, name, code, message, tookMs: performance.now() - startedAtMs }
  }
}

// Once before, so that what is timed is not the loading of the library.
await connect('redis://127.0.0.1:1').catch(() => {})
console.log(JSON.stringify(await Promise.all(urls.map(outcomeOf))))
const endedAtMs = performance.now()
process.once('exit', () => console.log(JSON.stringify({ lingeredMs: performance.now() - endedAtMs })))
