import { styleText } from 'node:util'
import { redact, secretsOf } from './secrets.ts'
import { neutralise } from './text.ts'

type Style = Parameters<typeof styleText>[0]

/** Colours for one stream: only on a terminal, and not where NO_COLOR asks for none. */
export function paintFor(stream: { isTTY?: boolean }): (style: Style, text: string) => string {
  const colourful = stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb'
  return (style, text) => (colourful ? styleText(style, text, { validateStream: false }) : text)
}

/** One line of data. */
export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

/** One line to the person at the terminal, with nothing in it that could open a store or move the cursor. */
export function say(message: string): void {
  process.stderr.write(`holdfast: ${neutralise(redact(message, knownSecrets()))}\n`)
}

/** An error's message and the messages of its causes, as far as they say something new. */
export function messageOf(error: unknown): string {
  const messages: string[] = []
  for (
    let at: unknown = error;
    at !== undefined && at !== null;
    at = at instanceof Error ? at.cause : undefined
  ) {
    const message = at instanceof Error ? at.message || at.name : String(at)
    if (!messages.some((earlier) => earlier.includes(message))) messages.push(message)
  }
  return messages.join(': ')
}

function knownSecrets(): string[] {
  const given = process.argv.flatMap((argument, at, all) =>
    argument.startsWith('--store=') ? [argument.slice(8)] : all[at - 1] === '--store' ? [argument] : [],
  )
  return [...given, process.env.HOLDFAST_STORE ?? ''].flatMap(secretsOf)
}
