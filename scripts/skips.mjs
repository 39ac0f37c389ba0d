// A reporter for vitest: counts the reasons for which tests were skipped, so that no case disappears without a word.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** `HOLDFAST_SKIPS` names the file: an object with the number of tests for each reason. */
export default class Skips {
  reasons = {}

  onTestCaseResult(testCase) {
    const { state, note } = testCase.result()
    if (state !== 'skipped') return
    const reason = note ?? 'without a reason'
    this.reasons[reason] = (this.reasons[reason] ?? 0) + 1
  }

  onTestRunEnd() {
    const file = process.env.HOLDFAST_SKIPS
    if (file === undefined) return
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(this.reasons))
  }
}
