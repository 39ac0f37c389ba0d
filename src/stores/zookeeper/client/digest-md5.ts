import { createHash } from 'node:crypto'

/** The fixed service and host name of every server of ZooKeeper. */
const DIGEST_URI = 'zookeeper/zk-sasl-md5'
const COUNT = '00000001'
const QUALITY = 'auth'

export interface DigestAnswer {
  readonly response: string
  /** The expected proof that the server knows the password too. */
  readonly proof: string
}

/** The answer to a challenge of DIGEST-MD5 (RFC 2831); null for any other challenge. */
export function answerChallenge(
  challenge: string,
  user: string,
  password: string,
  clientNonce: string,
): DigestAnswer | null {
  const { realm = '', nonce, algorithm } = directivesOf(challenge)
  if (nonce === undefined || algorithm !== 'md5-sess') return null
  const secret = md5(Buffer.concat([bytesOf(user), COLON, bytesOf(realm), COLON, bytesOf(password)]))
  const session = md5(Buffer.concat([secret, Buffer.from(`:${nonce}:${clientNonce}`)])).toString('hex')
  const proofOf = (method: string): string => {
    const request = md5(Buffer.from(`${method}:${DIGEST_URI}`)).toString('hex')
    const text = `${session}:${nonce}:${COUNT}:${clientNonce}:${QUALITY}:${request}`
    return md5(Buffer.from(text)).toString('hex')
  }
  const response = [
    'charset=utf-8',
    `username=${quoted(user)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `nc=${COUNT}`,
    `cnonce=${quoted(clientNonce)}`,
    `digest-uri=${quoted(DIGEST_URI)}`,
    `response=${proofOf('AUTHENTICATE')}`,
    `qop=${QUALITY}`,
  ]
  return { response: response.join(','), proof: `rspauth=${proofOf('')}` }
}

const COLON = Buffer.from(':')

function md5(bytes: Buffer): Buffer {
  return createHash('md5').update(bytes).digest()
}

/** The RFC hashes text in ISO 8859-1 if it fits, otherwise in UTF-8. */
function bytesOf(text: string): Buffer {
  const fits = [...text].every((letter) => (letter.codePointAt(0) as number) <= 0xff)
  return Buffer.from(text, fits ? 'latin1' : 'utf8')
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function directivesOf(challenge: string): Partial<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [, name = '', text, token = ''] of challenge.matchAll(
    /([a-z-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]*))/gi,
  ))
    found[name.toLowerCase()] ??= text === undefined ? token : text.replace(/\\(.)/g, '$1')
  return found
}
