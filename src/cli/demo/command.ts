import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { connect, UnsupportedError } from '../../index.ts'
import { readArguments } from '../arguments.ts'
import { type CliCommand, JSON_OPTION } from '../command.ts'
import { EXIT } from '../exit.ts'
import { outputClosed, print, say } from '../output.ts'
import { codeOfSignal } from '../run/signals.ts'
import { jsonText } from '../text.ts'
import { SALE } from './messages.ts'
import { report } from './report.ts'
import { holdSale } from './sale.ts'
import { DemoScreen } from './screen.ts'
import { brokenPromises, type SaleRecord, tallyOf } from './witness.ts'

const LONGEST_MS = 55_000

export const demo: CliCommand = {
  help: {
    usage: 'holdfast demo [--json]',
    about: [
      `A flash sale: ${SALE.workers} processes sell ${SALE.units} units to ${SALE.buyers} buyers, first without a lock, then with one. During the`,
      'second sale one process is killed and one is paused until its lease has run out, both in the middle of a sale.',
    ].join('\n'),
    examples: [
      ['watch it', 'holdfast demo'],
      ['check it', `holdfast demo --json | jq '.kept'`],
    ],
    options: [JSON_OPTION],
    exits: [
      ['0', 'the promise was kept'],
      ['1', 'the promise was broken'],
    ],
  },
  async run(args) {
    const { values } = readArguments(args, { json: { type: 'boolean' } }, [])
    if (process.platform === 'win32')
      throw new UnsupportedError('the demo pauses a process with SIGSTOP, which Windows lacks')
    const screen = new DemoScreen(values.json === true)
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-demo-'))
    const cancel = new AbortController()
    const onSignal = (signal: NodeJS.Signals): void => cancel.abort(signal)
    const onClosed = (): void => cancel.abort('SIGPIPE')
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
    outputClosed.addEventListener('abort', onClosed)
    const timer = setTimeout(() => cancel.abort('late'), LONGEST_MS)
    try {
      await tryLocks(folder)
      const [hasty, guarded] = await bothSales(folder, screen, cancel.signal)
      report(screen, hasty, guarded)
      if (values.json) print(jsonText(dataOf(hasty, guarded)))
      return brokenPromises(guarded).length === 0 ? EXIT.ok : EXIT.failed
    } catch (error) {
      if (!cancel.signal.aborted) throw error
      if (cancel.signal.reason !== 'late') return codeOfSignal(cancel.signal.reason as NodeJS.Signals)
      say(`the sale was not over after ${LONGEST_MS / 1_000} s`)
      return EXIT.failed
    } finally {
      clearTimeout(timer)
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
      outputClosed.removeEventListener('abort', onClosed)
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Without SQLite the second sale is impossible: the message comes before the first one. */
async function tryLocks(folder: string): Promise<void> {
  await (await connect(pathToFileURL(join(folder, 'trial.db')).href)).close()
}

async function bothSales(
  folder: string,
  screen: DemoScreen,
  cancelled: AbortSignal,
): Promise<[SaleRecord, SaleRecord]> {
  const { paint } = screen
  const buyers = SALE.buyers.toLocaleString('en')
  screen.line(
    paint(
      'bold',
      `A flash sale: ${SALE.units} units, ${buyers} buyers, ${SALE.workers} processes that share one stock file`,
    ),
  )
  screen.line(paint('dim', 'Every sale reads the stock, takes the payment, and writes the stock back.'))
  screen.line()
  screen.line(paint('bold', '1  Without a lock'))
  const hasty = await holdSale(false, folder, screen, cancelled)
  const { oversoldBy, unitsSoldTwice } = tallyOf(hasty)
  screen.line(
    `         oversold by ${oversoldBy}: ${unitsSoldTwice} units were promised to more than one buyer`,
  )
  screen.line()
  screen.line(paint('bold', `2  With Holdfast: await locks.using('sale', sell)`))
  const guarded = await holdSale(true, folder, screen, cancelled)
  return [hasty, guarded]
}

function dataOf(hasty: SaleRecord, guarded: SaleRecord): object {
  const broken = brokenPromises(guarded)
  return {
    kept: broken.length === 0,
    broken,
    phases: [hasty, guarded].map((result) => ({ ...tallyOf(result), turnedAway: result.turnedAway })),
    incidents: guarded.incidents.map(({ kind, worker, atMs }) => ({
      kind,
      worker,
      atMs: atMs - guarded.startedAtMs,
    })),
    refusals: guarded.refusals.map(({ worker, unit, token, fence }) => ({ worker, unit, token, fence })),
  }
}
