import { connect } from 'holdfast'
import { describe, expect, it } from 'vitest'
import { newPath, proxies } from './support.ts'

describe('opening', () => {
  it('goes on when the first connection breaks before its requests are answered', async () => {
    const [proxy] = proxies
    const path = newPath()
    const lost = proxy?.loseReplyTo(`${path}/records`)
    const locks = await connect(`zookeeper://127.0.0.1:${proxy?.port}${path}`)
    try {
      await lost
      expect(await locks.using('key', () => 'done')).toBe('done')
    } finally {
      await locks.close()
    }
  })
})
