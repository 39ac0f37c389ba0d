import type { Runtime } from '../../../core/runtime.ts'
import { answerChallenge } from './digest-md5.ts'
import { WireError } from './errors.ts'
import type { JuteReader } from './jute.ts'
import type { Pipeline } from './pipeline.ts'
import { OPERATIONS, XIDS } from './protocol.ts'

/** `digest` sends the password, which the server does not check; `sasl` proves a password of the server's own list. */
export interface Credentials {
  readonly scheme: 'digest' | 'sasl'
  readonly user: string
  readonly password: string
}

const NOTHING = Buffer.alloc(0)

/** Logs in. Null when there is no answer to wait for. */
export function logIn(
  pipeline: Pipeline,
  credentials: Credentials | null,
  runtime: Runtime,
): Promise<void> | null {
  if (credentials === null) return null
  if (credentials.scheme === 'sasl') return negotiate(pipeline, credentials, runtime)
  pipeline.post(XIDS.auth, OPERATIONS.auth, (writer) => {
    writer.int(0)
    writer.text(credentials.scheme)
    writer.bytes(Buffer.from(`${credentials.user}:${credentials.password}`))
  })
  return null
}

/** Requests a challenge, then answers it. */
async function negotiate(
  pipeline: Pipeline,
  { user, password }: Credentials,
  runtime: Runtime,
): Promise<void> {
  const challenge = await exchange(pipeline, NOTHING, user)
  if (challenge === '')
    throw refusal(
      'the server has no SASL login: it needs a Server section in its JAAS file, or leave out auth=sasl',
    )
  const answer = answerChallenge(challenge, user, password, runtime.newId())
  if (answer === null) throw refusal('the server asks for another mechanism of SASL than DIGEST-MD5')
  // A server may be configured to accept a failed login as anonymous: only its proof counts.
  if ((await exchange(pipeline, Buffer.from(answer.response), user)) !== answer.proof) throw wrong(user)
}

function exchange(pipeline: Pipeline, token: Buffer, user: string): Promise<string> {
  return pipeline
    .request<string | null>({
      operation: OPERATIONS.sasl,
      about: 'login',
      write: (writer) => writer.bytes(token),
      read: (reader: JuteReader) => reader.text(),
      excuse: ({ reason }) => (reason === 'AuthFailed' || reason === 'RequiresSasl' ? null : undefined),
    })
    .then((text) => {
      if (text === null) throw wrong(user)
      return text
    })
}

function wrong(user: string): WireError {
  const name = JSON.stringify(user)
  return refusal(
    `SASL refused ${name}: check the user, the password and the Server section of the server's JAAS file`,
  )
}

function refusal(why: string): WireError {
  return new WireError('AuthFailed', `ZooKeeper: AuthFailed (${why})`)
}
