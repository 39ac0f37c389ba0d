import { ROOT_DATA, requireFormat } from '../format.ts'
import type { Paths } from '../names.ts'
import { both, type ZooKeeperClient } from './client.ts'
import { isWire } from './errors.ts'
import type { Acl } from './protocol.ts'

const NOTHING = Buffer.alloc(0)

/** Makes the root nodes, and refuses those of another version. */
export async function makeRootNodes(
  client: ZooKeeperClient,
  paths: Paths,
  acl: readonly Acl[],
): Promise<void> {
  const [, found] = await both(client.sync('/'), both(client.exists(paths.records), rootData(client, paths)))
  const [records, data] = found
  if (data !== null) requireFormat(data, paths.root)
  if (records !== null) return
  const elements = paths.root.split('/').slice(1)
  for (let depth = 1; depth < elements.length; depth++)
    await make(client, `/${elements.slice(0, depth).join('/')}`, NOTHING, acl)
  await make(client, paths.root, ROOT_DATA, acl)
  await make(client, paths.locks, NOTHING, acl)
  await make(client, paths.records, NOTHING, acl)
  // Another version may have made the root first.
  requireFormat((await client.getData(paths.root)).data, paths.root)
}

async function rootData(client: ZooKeeperClient, paths: Paths): Promise<Buffer | null> {
  try {
    return (await client.getData(paths.root)).data
  } catch (error) {
    if (isWire(error, 'NoNode')) return null
    throw error
  }
}

async function make(client: ZooKeeperClient, path: string, data: Buffer, acl: readonly Acl[]): Promise<void> {
  try {
    await client.create(path, data, 'persistent', acl)
  } catch (error) {
    // Another process may have made it.
    if (!isWire(error, 'NodeExists')) throw error
  }
}
