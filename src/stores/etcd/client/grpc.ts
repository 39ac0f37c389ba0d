/** The gRPC codes with a meaning for us. */
export const NOT_FOUND = 5
export const UNAVAILABLE = 14
export const UNAUTHENTICATED = 16

/** The error of a member. */
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

/** Null when the call succeeded. */
export function errorOf(trailers: Trailers): GrpcError | null {
  const status = Number(trailers['grpc-status'] ?? Number.NaN)
  if (status === 0) return null
  if (Number.isNaN(status)) return new GrpcError(UNAVAILABLE, 'the call ended without a status')
  const message = trailers['grpc-message'] ?? `the member gave status ${status} and no reason`
  return new GrpcError(status, decoded(String(message)))
}

/** Messages are percent-encoded. */
function decoded(message: string): string {
  try {
    return decodeURIComponent(message)
  } catch {
    return message
  }
}

const FRAME = 5

/** Splits the pieces of a stream into messages. */
export class Unframer {
  private rest: Buffer | null = null

  /** The messages that this piece completes. */
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
