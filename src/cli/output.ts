import { styleText } from 'node:util'
import { storesIn } from './arguments.ts'
import { redact, secretsOf, suggestion } from './secrets.ts'
import { neutralise } from './text.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours for one stream: on a terminal, unless the environment disables them. */
export function paintFor(stream: { isTTY?: boolean }): (style: Style, text: string) => string {
  const colourful = isColourful(stream.isTTY === true, process.env)
  return (style, text) => (colourful ? styleText(style, text, { validateStream: false }) : text)
}

const unread = new AbortController()

/** Aborted when stdout cannot be written any more, with the error as its reason. */
export const outputClosed: AbortSignal = unread.signal

/** From here on a closed or full stream ends nothing: a command that holds a lock continues without output. */
export function outliveStreams(): void {
  process.stdout.on('error', (error) => unread.abort(error))
  process.stderr.on('error', () => {})
}

/** Warnings about Node's internals, which the user of a command cannot act on. */
const OF_NODE: ReadonlySet<string> = new Set(['ExperimentalWarning', 'DeprecationWarning'])

/** From here on warnings have our own format; Node's names a process and a flag of Node. */
export function sayWarnings(): void {
  // There are none with NODE_NO_WARNINGS or --no-warnings.
  const wanted = process.listenerCount('warning') > 0
  muteWarnings()
  if (!wanted) return
  process.on('warning', ({ name, message }) => {
    if (!OF_NODE.has(name)) say(`warning: ${message}`)
  })
}

export function muteWarnings(): void {
  process.removeAllListeners('warning')
}

/** As in Node, FORCE_COLOR wins over NO_COLOR; an empty value is ignored. */
function isColourful(onTerminal: boolean, { FORCE_COLOR, NO_COLOR, TERM }: NodeJS.ProcessEnv): boolean {
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return onTerminal && !NO_COLOR && TERM !== 'dumb'
}

/** One line of data. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/**
 * One line for the person at the terminal, without secrets and control characters. Commands in it get the store of
 * `--store` if it was given.
 */
export function say(message: string, store?: string): void {
  process.stderr.write(`holdfast: ${neutralise(suggestion(redact(message, knownSecrets()), store))}\n`)
}

/** The messages of an error and of its causes, without repetitions. */
export function messageOf(error: unknown): string {
  const messages: string[] = []
  for (
    let at: unknown = error;
    at !== undefined && at !== null;
    at = at instanceof Error ? at.cause : undefined
  ) {
    const whole = at instanceof Error ? at.message || at.name : String(at)
    // Only the first line: below it a cause has details such as Node's require stack.
    const message = messages.length === 0 ? whole : whole.split('\n', 1)[0]!
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message)
  }
  return messages.join(': ')
}

function knownSecrets(): string[] {
  return [...storesIn(process.argv), process.env.HOLDFAST_STORE ?? ''].flatMap(secretsOf)
}
