import { setTimeout as sleep } from 'node:timers/promises'
import { DATA, readArguments, readDuration } from '../arguments.ts'
import { type CliCommand, STORE_OPTION } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'
import { messageOf, outputClosed, paintFor, print } from '../output.ts'
import { openLocks, withLocks } from '../store.ts'
import { jsonText, neutralise } from '../text.ts'
import { viewData } from '../view-data.ts'
import { picture } from './screen.ts'
import { Looker } from './snapshot.ts'
import { Terminal } from './terminal.ts'

const EVERY_MS = 1000
const SHORTEST_MS = 100
const MOST_KEYS = 200
const PIPE_COLUMNS = 120

export const top: CliCommand = {
  help: {
    usage: 'holdfast top [PREFIX] [--every 1s] [--json]',
    about: [
      'Shows the holders, their times and the waiters, again and again: the longest queues first, then the longest holds.',
      'q or Ctrl-C ends it. On a pipe it prints one screen and ends, or with --every one after another.',
    ].join('\n'),
    examples: [
      ['watch', 'holdfast top'],
      ['only the keys of one service, ten times a second', 'holdfast top order: --every 100ms'],
      ['a line of JSON every five seconds, for a log', 'holdfast top --json --every 5s >> locks.jsonl'],
    ],
    options: [
      ['--every TIME', 'how often to look; 1s by default, 100ms at least'],
      STORE_OPTION,
      ['--json', 'one JSON object per line and look'],
    ],
  },
  async run(args) {
    const { values, positionals } = readArguments(args, { ...DATA, every: { type: 'string' } }, ['[PREFIX]'])
    const everyMs = values.every === undefined ? null : readDuration('every', values.every)
    if (everyMs !== null && everyMs < SHORTEST_MS) throw new UsageError('--every must be at least 100ms')
    return await withLocks(openLocks(values.store), async (locks) => {
      locks.on('warning', () => {})
      const looker = new Looker(locks, positionals[0] ?? '', MOST_KEYS)
      if (process.stdout.isTTY && !values.json) await onTerminal(looker, everyMs ?? EVERY_MS)
      else await onPipe(looker, everyMs, values.json === true)
      return EXIT.ok
    })
  },
}

async function onPipe(looker: Looker, everyMs: number | null, json: boolean): Promise<void> {
  while (!outputClosed.aborted) {
    const snapshot = await looker.look()
    if (json) print(jsonText({ ...snapshot, keys: snapshot.keys.map(viewData) }).replace(/\n\s*/g, ' '))
    else
      for (const line of picture(snapshot, PIPE_COLUMNS, Number.POSITIVE_INFINITY, paintFor(process.stdout)))
        print(line)
    if (everyMs === null) return
    await sleep(everyMs, undefined, { signal: outputClosed }).catch(() => {})
  }
}

/** Shows the error of a silent store in place, and asks again. */
async function onTerminal(looker: Looker, everyMs: number): Promise<void> {
  const { stdout } = process
  const paint = paintFor(stdout)
  const terminal = new Terminal()
  try {
    while (!terminal.signal.aborted) {
      const lines = await looker.look().then(
        (snapshot) => picture(snapshot, stdout.columns || PIPE_COLUMNS, stdout.rows || 24, paint),
        (error) => [neutralise(messageOf(error))],
      )
      terminal.draw([...lines, paint('dim', 'q ends')])
      await Promise.race([
        sleep(everyMs, undefined, { signal: terminal.signal }).catch(() => {}),
        terminal.left,
      ])
    }
  } finally {
    terminal.close()
  }
}
