import { type CommandOutcome, StoreError, TransactionError } from '../../errors.ts'
import type { QueuedCommand } from './attempt.ts'
import type { TransactionConnection } from './connection.ts'

/**
 * Runs the commands as one, in one round trip; null when a watched key was changed. With no command at all this still
 * finds out whether what was read was true at one moment.
 */
export async function commit(
  connection: TransactionConnection,
  commands: readonly QueuedCommand[],
): Promise<readonly unknown[] | null> {
  const sent: Promise<unknown>[] = []
  let replies: Promise<unknown>
  try {
    sent.push(connection.send('MULTI', []))
    for (const { name, args } of commands) sent.push(connection.send(name, args))
    replies = connection.send('EXEC', [])
  } catch (error) {
    for (const promise of sent) promise.catch(() => {})
    await connection.send('DISCARD', [])
    throw error
  }
  const [[, ...queued], [done]] = await Promise.all([Promise.allSettled(sent), Promise.allSettled([replies])])
  if (done === undefined || done.status === 'rejected') throw aborted(commands, queued, done?.reason)
  if (done.value === null) return null
  const answers = done.value as readonly unknown[]
  if (answers.some((answer) => answer instanceof Error)) throw failed(commands, answers)
  return answers
}

/** EXEC itself failed: because commands were refused, and then nothing was run, or for a reason that nobody here knows. */
function aborted(
  commands: readonly QueuedCommand[],
  queued: readonly PromiseSettledResult<unknown>[],
  reason: unknown,
): unknown {
  if (!(reason instanceof Error) || !reason.message.includes('EXECABORT')) return reason
  const outcomes = commands.map(({ name }, index): CommandOutcome => {
    const answer = queued[index]
    return {
      command: name,
      reply: undefined,
      error: answer?.status === 'rejected' ? errorOf(answer.reason) : null,
    }
  })
  return new TransactionError(
    `nothing was done, because the server refused ${told(outcomes)}`,
    outcomes,
    false,
  )
}

function failed(commands: readonly QueuedCommand[], answers: readonly unknown[]): TransactionError {
  const outcomes = commands.map(({ name }, index): CommandOutcome => {
    const answer = answers[index]
    return answer instanceof Error
      ? { command: name, reply: undefined, error: answer }
      : { command: name, reply: answer, error: null }
  })
  return new TransactionError(
    `the server ran all ${outcomes.length} commands, and what succeeded stays done; these failed: ${told(outcomes)}`,
    outcomes,
    true,
  )
}

/** The commands with an error, by their number and name. */
function told(outcomes: readonly CommandOutcome[]): string {
  return outcomes
    .flatMap(({ command, error }, index) =>
      error === null ? [] : [`command ${index + 1}, ${command}: ${withoutArguments(error.message)}`],
    )
    .join('; ')
}

function errorOf(reason: unknown): Error {
  return reason instanceof Error ? reason : new StoreError(String(reason))
}

/** The server repeats the arguments of a command that it does not know, and they may be secret. */
function withoutArguments(message: string): string {
  return message.replace(/,? with args beginning with:.*$/s, '')
}
