import { grantedOf, type Story } from '../check/story.ts'
import type { Violation } from '../check/violation.ts'
import { Picture } from './svg.ts'

const WIDTH = 1180
const LEFT = 150
const ROW = 18
const AROUND_MS = 3000

/** The whole run: every fault on the row of its kind, and how many leases were granted in each second. */
export function overview(story: Story): string {
  const kinds = [...new Set(story.faults.map(({ kind }) => kind))].sort()
  const chart = 70
  const picture = new Picture(WIDTH, (kinds.length + 2) * ROW + chart)
  const spanMs = Math.max(1, story.toMs - story.fromMs)
  const at = (ms: number): number => LEFT + ((ms - story.fromMs) / spanMs) * (WIDTH - LEFT - 20)
  for (const [row, kind] of kinds.entries()) {
    const y = row * ROW + 4
    picture.box(LEFT, y, WIDTH - LEFT - 20, ROW - 4, 'row')
    picture.text(8, y + 11, kind)
    for (const fault of story.faults.filter((each) => each.kind === kind)) {
      const hint = `${kind}, ${fault.target}, ${seconds(fault.fromMs - story.fromMs)} to ${seconds(fault.toMs - story.fromMs)}`
      picture.box(at(fault.fromMs), y, Math.max(2, at(fault.toMs) - at(fault.fromMs)), ROW - 4, 'fault', hint)
    }
  }
  const top = kinds.length * ROW + 10
  const rates: number[] = Array(Math.ceil(spanMs / 1000)).fill(0)
  for (const { settledMs } of grantedOf(story.visits)) {
    const second = Math.floor((settledMs - story.fromMs) / 1000)
    rates[second] = (rates[second] ?? 0) + 1
  }
  const most = Math.max(1, ...rates)
  picture.text(8, top + 12, `grants per second, at most ${most}`)
  const points = rates.map(
    (rate, second) =>
      [at(story.fromMs + second * 1000 + 500), top + chart - (rate / most) * (chart - 20)] as const,
  )
  picture.line(points, 'rate')
  axis(picture, top + chart, spanMs, LEFT, at, story.fromMs)
  return picture.toString()
}

/** Holds and waits of every process on one key around a violation, and the faults at that time. */
export function closeUp(story: Story, violation: Violation): string {
  const fromMs = violation.atMs - AROUND_MS
  const toMs = violation.atMs + AROUND_MS
  const within = (from: number, to: number): boolean => to >= fromMs && from <= toMs
  const visits = story.visits.filter(
    ({ key, askedMs, validUntilMs, settledMs }) =>
      key === violation.key && within(askedMs, Math.max(validUntilMs, settledMs ?? toMs)),
  )
  const workers = [...new Set(visits.map(({ worker }) => worker))].sort()
  const faults = story.faults.filter((fault) => within(fault.fromMs, fault.toMs))
  const picture = new Picture(WIDTH, (workers.length + faults.length + 3) * ROW)
  const at = (ms: number): number => {
    const share = (Math.min(toMs, Math.max(fromMs, ms)) - fromMs) / (toMs - fromMs)
    return LEFT + share * (WIDTH - LEFT - 20)
  }
  const height = (workers.length + faults.length) * ROW
  for (const [row, fault] of faults.entries()) {
    picture.box(at(fault.fromMs), 0, Math.max(2, at(fault.toMs) - at(fault.fromMs)), height, 'band')
    picture.box(
      at(fault.fromMs),
      row * ROW + 4,
      Math.max(2, at(fault.toMs) - at(fault.fromMs)),
      ROW - 6,
      'fault',
    )
    picture.text(8, row * ROW + 15, `${fault.kind}: ${fault.target}`)
  }
  for (const [place, worker] of workers.entries()) {
    const y = (faults.length + place) * ROW + 4
    picture.text(8, y + 11, worker)
    for (const visit of visits.filter((each) => each.worker === worker)) {
      const settledMs = visit.settledMs ?? toMs
      picture.box(at(visit.askedMs), y + 5, at(settledMs) - at(visit.askedMs), 3, 'wait', `${visit.op} waits`)
      if (visit.outcome !== 'granted') continue
      const style = violation.ops.includes(visit.op)
        ? 'guilty'
        : visit.mode === 'exclusive'
          ? 'lease'
          : visit.mode
      const hint = `${visit.op} ${visit.mode} token ${visit.token}, ended by ${visit.endedBy}`
      picture.box(
        at(settledMs),
        y,
        Math.max(1.5, at(visit.validUntilMs) - at(settledMs)),
        ROW - 6,
        style,
        hint,
      )
    }
    for (const write of story.writes)
      if (write.key === violation.key && within(write.atMs, write.atMs) && write.op.startsWith(`${worker}-`))
        picture.box(at(write.atMs), y - 2, 1.5, ROW - 2, write.accepted ? 'accepted' : 'refused')
  }
  axis(picture, height + ROW, toMs - fromMs, LEFT, at, fromMs)
  return picture.toString()
}

function axis(
  picture: Picture,
  y: number,
  spanMs: number,
  left: number,
  at: (ms: number) => number,
  fromMs: number,
): void {
  picture.line(
    [
      [left, y],
      [WIDTH - 20, y],
    ],
    'axis',
  )
  const steps = 10
  for (let step = 0; step <= steps; step++) {
    const ms = (spanMs * step) / steps
    picture.text(at(fromMs + ms) - 10, y + 13, seconds(ms), 'faint')
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}
