import type { Check } from '../check.ts'
import type { Topic } from '../target.ts'
import { admin } from './admin.ts'
import { adoption } from './adoption.ts'
import { cancel } from './cancel.ts'
import { cleanUp } from './clean-up.ts'
import { crowds } from './crowds.ts'
import { exclusion } from './exclusion.ts'
import { expiry } from './expiry.ts'
import { fences } from './fencing.ts'
import { keys } from './keys.ts'
import { loss } from './loss.ts'
import { modes } from './modes.ts'
import { orders } from './orders.ts'
import { pushes } from './pushes.ts'
import { records } from './records.ts'
import { reentry } from './reentry.ts'
import { renewal } from './renewal.ts'
import { severalKeys } from './several.ts'
import { staleRelease } from './stale-release.ts'
import { stocks } from './stock.ts'
import { takeover } from './takeover.ts'
import { unknownOutcomes } from './unknown.ts'
import { waiting } from './waiting.ts'

/** Every case of the suite, by topic. */
export const CHECKS: Readonly<Record<Topic, readonly Check[]>> = {
  exclusion,
  keys,
  expiry,
  takeover,
  'stale release': staleRelease,
  'waiting and fairness': [...waiting, ...pushes],
  crowds,
  'cancel while waiting': cancel,
  renewal,
  loss,
  'unknown outcomes': unknownOutcomes,
  're-entry': reentry,
  modes,
  'several keys': severalKeys,
  fencing: fences,
  adoption,
  admin,
  records,
  stock: [...stocks, ...orders],
  'clean-up': cleanUp,
}
