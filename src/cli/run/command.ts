import { basename } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { AcquireOptions, Lease, Locks } from '../../index.ts'
import { type CliCommand, STORE_OPTION } from '../command.ts'
import { EXIT } from '../exit.ts'
import { messageOf, muteWarnings, say } from '../output.ts'
import { openLocks, withLocks } from '../store.ts'
import { planOf, type RunPlan } from './plan.ts'
import { codeOfSignal, Interrupted, Signals, unlessCancelled } from './signals.ts'
import { supervise } from './supervise.ts'
import { announceWaiting } from './waiting.ts'

export const run: CliCommand = {
  help: {
    usage:
      'holdfast run KEY [--ttl 10s] [--wait 10s | --no-wait] [--shared | --limit N] [--grace 10s] -- command args…',
    about: [
      'Waits for the lock, runs the command while it is held, and releases it when the command and all that it has started',
      'have ended. The command is started without a shell, in a process group of its own, and finds its key in HOLDFAST_KEY',
      'and its fencing token in HOLDFAST_TOKEN. HOLDFAST_STORE is not passed on.',
      '',
      'Signals are passed on to the group; a signal during the wait means that the command is never started. If the group',
      'has not ended within --grace after SIGTERM, SIGINT or SIGHUP, it gets SIGKILL. A process that the command leaves',
      'behind keeps the lock until it ends; started by setsid, it is no longer of the group and keeps nothing. If the lease',
      'is lost, the group gets SIGTERM, then SIGKILL.',
      '',
      'All this takes a holdfast that runs. If it is killed by SIGKILL or stopped by SIGSTOP, the command goes on, and when',
      'the ttl is over it does so without the lock: let what it writes to check HOLDFAST_TOKEN. Ctrl-Z stops both.',
    ].join('\n'),
    examples: [
      ['never two backups at once; the second waits for up to 10 s', 'holdfast run backup -- ./backup.sh'],
      ['from cron: skip it when the last one still runs', 'holdfast run backup --no-wait -- ./backup.sh'],
      [
        'across machines: one migration, however many servers start',
        'HOLDFAST_STORE=redis://cache:6379 holdfast run migrate --wait 5m -- npm run migrate',
      ],
      ['at most 3 encoders', 'holdfast run encode --limit 3 --wait forever -- ffmpeg -i in.mov out.mp4'],
      ['many readers, or one writer', 'holdfast run catalogue --shared -- ./export.sh'],
      ['a pipe needs a shell of its own', `holdfast run dump -- sh -c 'pg_dump shop | gzip > shop.gz'`],
    ],
    options: [
      ['--ttl 10s', 'how long the lock outlives this process if it dies; renewed while it lives'],
      ['--wait 10s', 'how long to wait for the lock; forever is allowed'],
      ['--no-wait', 'try once'],
      ['--shared', 'share the key with other --shared runs, never with an exclusive one'],
      ['--limit N', 'up to N at the same time; say the same N everywhere'],
      [
        '--grace 10s',
        'how long the command may take to end after a signal, before SIGKILL; forever is allowed',
      ],
      ['-q, --quiet', 'say only what went wrong: not for whom we wait, and no warnings of the store'],
      STORE_OPTION,
    ],
    exits: [
      ['n', `the command's own exit code, 128+n when signal n ended it, 127 when it was not found`],
      ['75', 'the lock was not had in time; the command was not started'],
      ['76', 'the lease was lost; the command was ended'],
      ['69', 'the store cannot be reached'],
      ['64', 'bad usage'],
    ],
  },
  async run(args) {
    const plan = planOf(args)
    if (plan.quiet) muteWarnings()
    // From here to the end every signal is handled, and none ends this process while it holds the lock.
    const signals = new Signals()
    try {
      const opened = unlessCancelled(openLocks(plan.store), signals.cancelled)
      return await withLocks(opened, (locks) => underLock(locks, plan, signals))
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
      say(error.message)
      return codeOfSignal(error.signal)
    } finally {
      signals.stop()
    }
  },
}

async function underLock(locks: Locks, plan: RunPlan, signals: Signals): Promise<number> {
  const stopAnnouncing = plan.quiet ? () => {} : announceWaiting(locks, plan.key, plan.waitMs)
  const lease = await acquire(locks, plan, signals.cancelled).finally(stopAnnouncing)
  // A pushed grant is short until its first renewal; a command starts with a full lease.
  if (lease.remainingMs() < plan.ttlMs / 2) await lease.extend(plan.ttlMs)
  // A signal that arrived with the grant is queued, not handled: this turn handles it.
  await turn()
  signals.cancelled.throwIfAborted()
  // This process may have been paused since the grant.
  lease.assertHeld()
  const code = await supervise(plan, lease, signals)
  if (code === 'lost') return EXIT.lost
  return (await release(lease)) === 'expired' ? lostUnnoticed(lease) : code
}

function acquire(
  locks: Locks,
  { key, mode, ttlMs, waitMs, command }: RunPlan,
  signal: AbortSignal,
): Promise<Lease> {
  // Only the name of the program: its arguments may be secret.
  const options: AcquireOptions = {
    ttl: ttlMs,
    wait: waitMs,
    signal,
    meta: { command: basename(command[0]) },
  }
  if (mode.kind === 'shared') return locks.rw(key).read.acquire(options)
  if (mode.kind === 'permits') return locks.semaphore(key, { limit: mode.limit }).acquire(options)
  return locks.acquire(key, options)
}

/** The command has ended, so its exit code counts even if the release fails. */
async function release(lease: Lease): Promise<'released' | 'expired' | 'unknown'> {
  try {
    return await lease.release()
  } catch (error) {
    say(`${JSON.stringify(lease.key)} could not be released and ends with its ttl: ${messageOf(error)}`)
    return 'unknown'
  }
}

function lostUnnoticed(lease: Lease): number {
  say(`the lease on ${JSON.stringify(lease.key)} was lost before the command ended`)
  return EXIT.lost
}
