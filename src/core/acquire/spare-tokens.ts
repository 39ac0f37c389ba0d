import type { Grant } from './grant.ts'

/** The fencing tokens directly above a granted one, for those who use the grant after its first holder. */
export class SpareTokens {
  private readonly granted: bigint | null
  private readonly spare: number
  private used = 0

  constructor({ token, spare }: Grant) {
    this.granted = token
    this.spare = spare
  }

  /** Those of the highest grant: of several holds of one key, the tokens that are handed out still rise. */
  static newer(known: SpareTokens | null, grant: Grant): SpareTokens {
    const { token } = grant
    const stale = known !== null && token !== null && known.granted !== null && token < known.granted
    return stale ? known : new SpareTokens(grant)
  }

  get left(): boolean {
    return this.used < this.spare
  }

  take(): bigint | null {
    this.used++
    return this.granted === null ? null : this.granted + BigInt(this.used)
  }
}
