/** Requests to etcd past the store: by the JSON gateway, which shares no code with the store's client. */
export class Operator {
  private readonly endpoints: readonly string[]

  constructor(endpoints: readonly string[]) {
    this.endpoints = endpoints
  }

  /** Forgets all history: watches that have not caught up are told so. */
  async compact(): Promise<void> {
    const { header } = await this.post('/v3/kv/range', { key: base64('holdfast/'), limit: '1' })
    try {
      await this.post('/v3/kv/compaction', { revision: header.revision })
    } catch (error) {
      // Somebody else did it in the same moment, or the first of two tries did.
      if (!(error instanceof Error && error.message.includes('has been compacted'))) throw error
    }
  }

  /** How many keys of ours there are. */
  async countKeys(): Promise<number> {
    const range = { key: base64('holdfast/'), range_end: base64('holdfast0'), count_only: true }
    return Number((await this.post('/v3/kv/range', range)).count ?? 0)
  }

  async countLeases(): Promise<number> {
    return (await this.post('/v3/lease/leases', {})).leases?.length ?? 0
  }

  private async post(path: string, body: unknown): Promise<Answer> {
    let failure: unknown
    for (const endpoint of this.endpoints) {
      try {
        const signal = AbortSignal.timeout(3000)
        const init = { method: 'POST', body: JSON.stringify(body), signal }
        const answer = await fetch(`http://${endpoint}${path}`, init)
        if (answer.ok) return (await answer.json()) as Answer
        failure = new Error(`${path}: ${await answer.text()}`)
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }
}

interface Answer {
  readonly header: { readonly revision: string }
  readonly count?: string
  readonly leases?: readonly { readonly ID: string }[]
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
