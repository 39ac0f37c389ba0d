import type { Claim, Mode } from '../../../src/model/index.ts'
import type { Ballots, Question, QuorumNode, Vote } from '../../../src/stores/quorum/protocol.ts'

export const granted = { kind: 'granted', seq: 7, contended: false } as const satisfies Vote

/** A node that answers claims when the test says so, in whatever order. */
export class Voter implements QuorumNode {
  readonly name: string
  readonly heard: Question[] = []
  private give: (vote: Vote) => void = () => {}
  private readonly asked: Promise<void>
  private tellAsked: () => void = () => {}

  constructor(name: string) {
    this.name = name
    this.asked = new Promise((resolve) => {
      this.tellAsked = resolve
    })
  }

  async votes(vote: Vote): Promise<void> {
    await this.asked
    this.give(vote)
    await new Promise(setImmediate)
  }

  send(questions: readonly Question[], answered: (ballots: Ballots) => void): void {
    void this.ask(questions).then(answered)
  }

  private ask(questions: readonly Question[]): Promise<Ballots> {
    this.heard.push(...questions)
    const answer = (vote: Vote): Ballots => ({
      stampUs: 1,
      votes: questions.map(({ kind }) => (kind === 'claim' ? vote : { kind: 'released' })),
    })
    if (!questions.some(({ kind }) => kind === 'claim')) return Promise.resolve(answer(granted))
    return new Promise((resolve) => {
      this.give = (vote) => resolve(answer(vote))
      this.tellAsked()
    })
  }

  timeUs = () => Promise.resolve(1)
  identify = () => Promise.resolve(this.name)
  listen: QuorumNode['listen'] = () => Promise.resolve()
  read = () => Promise.resolve([])
  evict = () => Promise.resolve()
  close = () => Promise.resolve()
  async *scan(): AsyncIterable<readonly string[]> {}
}

export function claimOf(mode: Mode): Claim {
  const plain = { owner: null, actor: null, meta: null, group: null, replaces: null, label: 'test' }
  return { ...plain, key: 'k', id: 'c', mode, ttlMs: 10_000, queue: true, lockDelayMs: 0 }
}
