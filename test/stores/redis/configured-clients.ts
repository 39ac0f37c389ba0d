import { Decoder, GlideClient } from '@valkey/valkey-glide'
import { Redis as Ioredis5 } from 'ioredis'
import { Redis as Ioredis6 } from 'ioredis6'
import { createClient as createNodeRedis6, RESP_TYPES as RESP_TYPES_6 } from 'redis'
import { createClient as createNodeRedis5, RESP_TYPES as RESP_TYPES_5 } from 'redis5'
import type { CLIENTS } from './clients.ts'

type Bring = (typeof CLIENTS)[string]

const host = '127.0.0.1'

/** Texts as bytes, numbers as texts, maps as lists: everything that node-redis can show in another form. */
export const NODE_REDIS_5_FORMS = {
  [RESP_TYPES_5.SIMPLE_STRING]: Buffer,
  [RESP_TYPES_5.BLOB_STRING]: Buffer,
  [RESP_TYPES_5.VERBATIM_STRING]: Buffer,
  [RESP_TYPES_5.NUMBER]: String,
  [RESP_TYPES_5.DOUBLE]: String,
  [RESP_TYPES_5.MAP]: Array,
}
export const NODE_REDIS_6_FORMS = {
  [RESP_TYPES_6.SIMPLE_STRING]: Buffer,
  [RESP_TYPES_6.BLOB_STRING]: Buffer,
  [RESP_TYPES_6.VERBATIM_STRING]: Buffer,
  [RESP_TYPES_6.NUMBER]: String,
  [RESP_TYPES_6.DOUBLE]: String,
  [RESP_TYPES_6.MAP]: Map,
}

/** A duplicate shares the class of these; to make a class anew for each set of options takes them long. */
const nodeRedis5 = createNodeRedis5({ commandOptions: { typeMapping: NODE_REDIS_5_FORMS } })
const nodeRedis6 = createNodeRedis6()

/** Clients whose owners want replies in another form than the usual one. */
export const CONFIGURED_CLIENTS: Record<string, Bring> = {
  'ioredis 5, numbers as texts': async (port, connectionName) =>
    ioredis(new Ioredis5(port, host, { connectionName, stringNumbers: true })),
  'ioredis 6, numbers as texts and maps as objects': async (port, connectionName) =>
    ioredis(
      new Ioredis6(port, host, { connectionName, stringNumbers: true, protocol: 3, replyMapping: 'resp3' }),
    ),
  'redis 5, by its options': async (port, name) => {
    const client = nodeRedis5.duplicate({ socket: { host, port }, name })
    client.on('error', () => {})
    await client.connect()
    return { client, close: () => client.destroy() }
  },
  'redis 6, by withTypeMapping': async (port, name) => {
    const client = nodeRedis6.duplicate({ socket: { host, port }, name })
    client.on('error', () => {})
    await client.connect()
    return { client: client.withTypeMapping(NODE_REDIS_6_FORMS), close: () => client.destroy() }
  },
  'glide, texts as bytes': async (port, clientName) => {
    const addresses = [{ host, port }]
    const client = await GlideClient.createClient({ addresses, clientName, defaultDecoder: Decoder.Bytes })
    return { client, close: () => client.close() }
  },
}

function ioredis(client: Ioredis5 | Ioredis6) {
  client.on('error', () => {})
  return { client, close: () => client.disconnect() }
}
