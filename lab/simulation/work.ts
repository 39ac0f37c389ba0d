import type { Lease, WriteLease } from '../../src/core/api.ts'
import type { Fiber } from './fiber.ts'
import type { Ask, Take } from './plan.ts'
import type { Sighting } from './witness.ts'

/** Thrown by the work itself; `using` must hand on this very error. */
export class WorkError extends Error {}

export interface Job {
  readonly key: string
  readonly ask: Ask
  readonly party: string
  readonly askedUs: number
  readonly holdMs: number
  readonly writes: number
  readonly obeys: boolean
  /** The step it comes from, if it has a twist of its own. */
  readonly step?: Take
}

/** User code between grant and release, watched by the witness. */
export async function work(fiber: Fiber, lease: Lease, job: Job): Promise<void> {
  const { simulation, host } = fiber
  const { witness, calls } = simulation
  const { key, ask, party, askedUs, obeys } = job
  const sighting = witness.began({ key, client: host.name, host, lease, ask, party, listens: obeys, askedUs })
  fiber.client.had(lease.id)
  const over = calls.begin(host, `work under ${key}`, Number.POSITIVE_INFINITY)
  const holdMs = Math.min(job.holdMs, simulation.longestHoldMs)
  scheduleWrites(fiber, sighting, job.writes, holdMs)
  const slept = obeys ? Promise.race([host.sleep(holdMs), aborted(lease.signal)]) : host.sleep(holdMs)
  try {
    if (job.step !== undefined) await twist(fiber, lease, sighting, job.step)
    await slept
  } finally {
    over()
    witness.ended(sighting, lease.held ? 'done' : 'no longer held')
  }
  if (job.step?.twist.kind === 'throw') throw new WorkError('the work failed')
}

async function twist(fiber: Fiber, lease: Lease, sighting: Sighting, step: Take): Promise<void> {
  const { host, client, simulation } = fiber
  const { twist: wanted } = step
  const { callTimeoutMs } = simulation.plan
  switch (wanted.kind) {
    case 'extend': {
      await host.sleep(wanted.afterMs)
      const settled = simulation.calls.begin(host, `extend ${step.key}`, callTimeoutMs * 2)
      await lease.extend(wanted.ttlMs).finally(settled)
      return
    }
    case 'downgrade': {
      await host.sleep(wanted.afterMs)
      // From now on user code counts on no more than a reader's rights, whatever the answer will be.
      sighting.ask = { kind: 'read' }
      const settled = simulation.calls.begin(host, `downgrade ${step.key}`, callTimeoutMs)
      await (lease as WriteLease).downgrade().finally(settled)
      return
    }
    case 'give': {
      await host.sleep(wanted.afterMs)
      if (!lease.held) return
      const json = JSON.parse(JSON.stringify(lease))
      simulation.world.note(host.name, `gives ${lease.id} away`)
      client.peers[wanted.to]?.receive(json, step.holdMs)
      return
    }
    case 'reenter': {
      const inner = (nested: Lease) =>
        work(fiber, nested, { ...step, ...partyOf(sighting), holdMs: 2, writes: 0 })
      await client.locks.using(step.key, { reentrant: true, wait: 0 }, inner)
      return
    }
  }
}

function partyOf({ party, askedUs }: Sighting): Pick<Job, 'party' | 'askedUs'> {
  return { party, askedUs }
}

/** Writes leave at chosen moments of the work and reach the register whenever the network lets them. */
function scheduleWrites(
  { host, client, simulation }: Fiber,
  sighting: Sighting,
  writes: number,
  holdMs: number,
): void {
  const { network, register } = simulation
  for (let index = 0; index < writes; index++) {
    host.after((holdMs * (index + 1)) / (writes + 1), () => {
      if (sighting.ask.kind === 'read') return
      network.send(client.plan.name, 'up', 'write', () => register.write(sighting), true)
    })
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
