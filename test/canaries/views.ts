import type { Records, Store } from 'holdfast'
import type {
  Answer,
  Clock,
  Event,
  KeyState,
  KeyView,
  Notification,
  RecordCondition,
  RecordState,
  StepOutcome,
  takeFromRecord,
} from '../../src/model/index.ts'
import type { Canary } from './canary.ts'
import { World } from './world.ts'

/** Diseases of what surrounds the locks: operators' views, notices and records. */
export const views: readonly Canary[] = [
  {
    disease: 'read and list show ids',
    topic: 'admin',
    World: class extends World {
      protected override view(key: string): KeyView {
        const ids = this.stateOf(key).holds.flatMap((hold) => hold.members.map((member) => member.id))
        return { ...super.view(key), ids } as KeyView
      }
    },
  },
  {
    disease: 'an eviction does not look at the token',
    topic: 'admin',
    World: class extends World {
      protected override step<E extends Event>(
        state: KeyState,
        event: E,
        clock: Clock,
      ): StepOutcome<Answer<E>> {
        return super.step(state, event.kind === 'evict' ? { ...event, token: null } : event, clock)
      }
    },
  },
  {
    disease: 'an evicted holder is not told',
    topic: 'loss',
    World: class extends World {
      protected override deliver(key: string, notification: Notification): void {
        if (notification.notice.kind !== 'lost') super.deliver(key, notification)
      }
    },
  },
  {
    disease: 'notices go to everyone',
    topic: 'clean-up',
    World: class extends World {
      protected override deliver(key: string, notification: Notification): void {
        for (const inbox of this.listeners.keys()) super.deliver(key, { ...notification, inbox })
      }
    },
  },
  {
    disease: 'a take goes below zero',
    topic: 'records',
    World: class extends World {
      protected override taken(record: RecordState | null, count: number): ReturnType<typeof takeFromRecord> {
        const stock = Number(record?.value)
        if (record === null || Number.isNaN(stock)) return super.taken(record, count)
        const { next, answer } = super.taken({ ...record, value: String(stock + count) }, count)
        return { next: next === null ? null : { ...next, value: String(stock - count) }, answer }
      }
    },
  },
  {
    disease: 'a record is written under a lease that is over',
    topic: 'records',
    World: class extends World {
      protected override allows(current: RecordState | null, condition: RecordCondition): boolean {
        return condition.kind === 'held' || super.allows(current, condition)
      }
    },
  },
  {
    disease: 'the last writer of a record wins',
    topic: 'records',
    World: class extends World {
      protected override allows(current: RecordState | null, condition: RecordCondition): boolean {
        return condition.kind === 'version' || super.allows(current, condition)
      }
    },
  },
  {
    disease: 'records never end',
    topic: 'records',
    World: class extends World {
      override open(): Store {
        const store = super.open()
        const records = store.records as Records
        return {
          ...store,
          records: {
            ...records,
            write: (key, value, _, condition) => records.write(key, value, null, condition),
          },
        }
      }
    },
  },
  {
    disease: 'a percent sign in a prefix matches everything',
    topic: 'admin',
    World: class extends World {
      override open(): Store {
        const store = super.open()
        return {
          ...store,
          admin: { ...store.admin, list: (prefix) => store.admin.list(prefix.replace(/%.*/, '')) },
        }
      }
    },
  },
]
