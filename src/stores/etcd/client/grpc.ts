/** The codes of gRPC that we tell apart. */
export const NOT_FOUND = 5
export const UNAVAILABLE = 14
export const UNAUTHENTICATED = 16

/** What a member answered instead of a result. */
export class GrpcError extends Error {
  readonly status: number

  constructor(status: number, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'GrpcError'
    this.status = status
  }
}

/** The members of the trailers of a call. */
export interface Trailers {
  readonly 'grpc-status'?: string | string[] | undefined
  readonly 'grpc-message'?: string | string[] | undefined
}

/** Null when the call went well. */
export function errorOf(trailers: Trailers): GrpcError | null {
  const status = Number(trailers['grpc-status'] ?? Number.NaN)
  if (status === 0) return null
  if (Number.isNaN(status)) return new GrpcError(UNAVAILABLE, 'the call ended without a status')
  const message = trailers['grpc-message'] ?? `the member gave status ${status} and no reason`
  return new GrpcError(status, decoded(String(message)))
}

/** Letters that do not fit a header come in percent signs. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message)
  } catch {
    return message
  }
}

const FRAME = 5

/** Puts the messages of a stream together from the pieces that they come in. */
export class Unframer {
  private rest: Buffer | null = null

  /** The messages that are complete with this piece. */
  push(piece: Buffer): Buffer[] {
    let buffer = this.rest === null ? piece : Buffer.concat([this.rest, piece])
    const messages: Buffer[] = []
    while (buffer.length >= FRAME) {
      const end = FRAME + buffer.readUInt32BE(1)
      if (buffer.length < end) break
      messages.push(buffer.subarray(FRAME, end))
      buffer = buffer.subarray(end)
    }
    this.rest = buffer.length === 0 ? null : buffer
    return messages
  }
}
