import type { ClockFact, Fact, Remains } from '../../core/facts.ts'
import { type KeyView, seqOf } from '../../model/index.ts'
import { type Finding, finding } from './findings.ts'
import { span, word } from './words.ts'

/** A difference beyond any NTP error. */
const CLOCK_LIMIT_MS = 10_000
const CLOCK_FIX = 'timedatectl set-ntp true   # on the machine whose clock is wrong; compare with: date -u'
/** The most findings of one kind that are shown one by one. */
const MOST_SHOWN = 10

/** Findings about the server and the other things in it than locks. */
export function examineServer(facts: readonly Fact[], foreign: readonly string[]): Finding[] {
  const found: Finding[] = []
  for (const fact of facts) {
    if (fact.kind === 'warning')
      found.push(
        finding(
          'STORE_AT_RISK',
          null,
          fact.message,
          fact.fix ?? 'as the evidence says',
          /EVICTION|MEMORY/.test(fact.code) ? 'critical' : 'warning',
        ),
      )
    else if (fact.kind === 'clock') found.push(...clockOff(fact))
  }
  const remains = facts.filter((fact): fact is Remains => fact.kind === 'foreign' || fact.kind === 'orphan')
  const foreignOnes = remains.filter(({ kind }) => kind === 'foreign')
  const orphans = remains.filter(({ kind }) => kind === 'orphan')
  return [...found, ...shown(foreignOnes, (each) => foreignOf(each, foreign)), ...shown(orphans, orphanOf)]
}

function clockOff({ whose, aheadMs }: ClockFact): Finding[] {
  if (Math.abs(aheadMs) <= CLOCK_LIMIT_MS) return []
  const side = aheadMs > 0 ? 'ahead of' : 'behind'
  return [
    finding(
      'CLOCK_OFF',
      null,
      `the clock of ${whose} is ${span(Math.abs(aheadMs))} ${side} the one of this machine`,
      CLOCK_FIX,
    ),
  ]
}

/** Most stores stamp tokens with a clock, which must have been ahead if one lies in the future; revisions never do. */
export function futureToken({ key, token }: KeyView, wallMs: number): Finding[] {
  if (token === null) return []
  const aheadMs = Number(seqOf(token)) / 1000 - wallMs
  if (aheadMs <= CLOCK_LIMIT_MS) return []
  return [
    finding(
      'CLOCK_OFF',
      key,
      `its last token was stamped by a clock that is, or was, ${span(aheadMs)} ahead of the one of this machine`,
      CLOCK_FIX,
    ),
  ]
}

function foreignOf({ name, what, idleMs }: Remains, patterns: readonly string[]): Finding {
  const idle = idleMs === null ? 'since when is not known' : `not used for ${span(idleMs)}`
  // By its own name if its age is not known: a pattern would remove live locks as well.
  const pattern = idleMs === null ? name : (patterns.find((each) => matches(each, name)) ?? name)
  return finding(
    'FOREIGN_NO_TTL',
    null,
    `${name}: ${what}, ${idle}`,
    `holdfast reap --foreign ${word(pattern)} --older ${idleMs === null ? '0s' : '1h'}`,
  )
}

function orphanOf({ name, what, count, blocking, idleMs }: Remains): Finding {
  const times = count === 1 ? '' : `${count} times `
  const dead = idleMs === null ? '' : `, for ${span(idleMs)}`
  return finding(
    blocking ? 'ORPHAN_BLOCKS' : 'ORPHAN',
    null,
    `${name}: ${times}${what}${dead}`,
    'holdfast reap --yes',
  )
}

/** The first few one by one; the last of them counts the rest. */
function shown(remains: readonly Remains[], findingOf: (each: Remains) => Finding): Finding[] {
  const found = remains.slice(0, MOST_SHOWN).map(findingOf)
  const more = remains.length - found.length
  const last = found.at(-1)
  if (more === 0 || last === undefined) return found
  return [...found.slice(0, -1), { ...last, evidence: `${last.evidence}; and ${more} more like these` }]
}

/** True if a name fits a pattern in which `*` stands for any text. */
export function matches(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^]*')}$`, 'u').test(name)
}
