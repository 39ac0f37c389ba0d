import { randomUUID } from 'node:crypto'
import { fitted } from '../../../src/cli/demo/screen.ts'
import { nowMs } from '../clock.ts'
import type { Stage } from '../context.ts'
import type { ServerAddress } from '../environments.ts'
import type { Timeline } from '../figures.ts'
import type { Generation } from '../locks/index.ts'
import { Actor } from './actor.ts'
import { eventOf } from './format.ts'
import { History, type Kind } from './history.ts'
import { KeyWatch } from './key-watch.ts'
import type { ActorOrder, FromActor } from './messages.ts'
import { timelineOf } from './timeline.ts'
import { Warehouse } from './warehouse.ts'

export const TTL_MS = 600
const UNITS = 10

export type Part = Partial<Pick<ActorOrder, 'waitMs' | 'workMs' | 'standAt' | 'afterMs'>>

/** The stage of one story: its processes, its stock, the key, and everything that was seen of them. */
export class Trial {
  readonly generation: Generation
  readonly key: string
  readonly warehouse = new Warehouse(UNITS)
  readonly history: History
  private readonly stage: Stage
  private readonly actors: Actor[] = []
  private readonly watches: { name: string; watch: KeyWatch }[] = []
  private startMs = nowMs()
  private endMs = 0

  constructor(stage: Stage, generation: Generation) {
    this.stage = stage
    this.generation = generation
    this.key = stage.place.keyFor(`lock-${randomUUID().slice(0, 8)}`)
    // Without its processes a story comes to its end by itself.
    stage.cancelled.addEventListener('abort', this.dismiss)
    this.history = new History((event) => {
      if (event.kind === 'asked' || event.kind === 'left' || event.kind === 'stood') return
      const seconds = `${((event.atMs - this.startMs) / 1_000).toFixed(2)} s`.padStart(8)
      stage.screen.line(stage.screen.paint('dim', fitted(`${seconds}  ${event.actor} ${event.text}`)))
    })
  }

  /** A process that is ready to begin. */
  async cast(name: string, address: ServerAddress, part: Part): Promise<Actor> {
    const { generation, key } = this
    const url = generation === 'fenced' ? address.fencedUrl : address.url
    const plan = { waitMs: TTL_MS * 3, workMs: 0, standAt: null, afterMs: 0, ...part }
    const order: ActorOrder = { name, generation, url, key, ttlMs: TTL_MS, ...plan }
    const actor = new Actor(order, (from, message) => this.receive(from, message))
    this.actors.push(actor)
    await actor.said('ready')
    return actor
  }

  /** Looks at the key in this server from now on. */
  async watch(address: ServerAddress, name = 'key'): Promise<void> {
    const url = this.generation === 'fenced' ? address.fencedUrl : address.url
    this.watches.push({ name, watch: await KeyWatch.over(this.generation, url, this.key) })
  }

  begin(): void {
    this.startMs = nowMs()
    const { screen } = this.stage
    screen.follow(() => {
      const seconds = `${((nowMs() - this.startMs) / 1_000).toFixed(2)} s`.padStart(8)
      return fitted(
        `${seconds}  ${this.actors.map((actor) => `${actor.name} ${this.stateOf(actor.name)}`).join('   ')}`,
      )
    })
  }

  note(kind: Kind, actor: string, text: string): void {
    this.history.add({ kind, actor, atMs: nowMs(), text })
  }

  /** Ends the processes and the looking. */
  async close(): Promise<void> {
    this.endMs = nowMs()
    this.stage.screen.clear()
    await Promise.all(this.watches.map(({ watch }) => watch.stop()))
    await Promise.all(this.actors.map((actor) => actor.dismiss()))
    this.stage.cancelled.removeEventListener('abort', this.dismiss)
  }

  private readonly dismiss = (): void => {
    for (const actor of this.actors) void actor.dismiss()
  }

  timeline(title: string): Timeline {
    const { history, startMs, endMs } = this
    const { begunWith, sold, refused, left } = this.warehouse
    const exact = begunWith - sold === left
    const footer = [
      `stock ${begunWith}, sold ${sold}, left ${left}`,
      exact ? 'exact' : `should be ${begunWith - sold}`,
      ...(refused > 0 ? [`${refused} late write${refused === 1 ? '' : 's'} refused`] : []),
    ].join(', ')
    const keys = this.watches.map(({ name, watch }) => ({ name, samples: watch.samples }))
    return timelineOf({ title, ttlMs: TTL_MS, startMs, endMs, history, keys, footer, exact })
  }

  /** How long it lasted, for `overlapsOf`. */
  get endedAtMs(): number {
    return this.endMs
  }

  private receive(actor: Actor, message: FromActor): void {
    if (message.kind === 'read') actor.send({ kind: 'stock', left: this.warehouse.read(message.token) })
    if (message.kind === 'write') this.write(actor, message.left, message.token)
    const event = eventOf(actor.name, message)
    if (event !== null) this.history.add(event)
  }

  private write(actor: Actor, left: number, token: string | null): void {
    if (this.warehouse.write(left, token)) this.note('sold', actor.name, `sells one and writes stock ${left}`)
    else this.note('refused', actor.name, `writes stock ${left}: refused, its token is behind`)
    actor.send({ kind: 'written' })
  }

  private stateOf(name: string): string {
    const kinds = this.history.events.filter((event) => event.actor === name).map(({ kind }) => kind)
    if (kinds.includes('killed')) return 'is dead'
    if (kinds.includes('paused') && !kinds.includes('woken')) return 'is paused'
    const states: readonly (readonly [Kind, string])[] = [
      ['released', 'is done'],
      ['gaveUp', 'gave up'],
      ['took', 'is inside'],
      ['asked', 'waits'],
    ]
    return states.find(([kind]) => kinds.includes(kind))?.[1] ?? 'is ready'
  }
}
