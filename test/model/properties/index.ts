import type { Topic } from '../property.ts'
import { adoption } from './adoption.ts'
import { batch } from './batch.ts'
import { delay } from './delay.ts'
import { downgrade } from './downgrade.ts'
import { exclusion } from './exclusion.ts'
import { expiry } from './expiry.ts'
import { fastStep } from './fast-step.ts'
import { fifo } from './fifo.ts'
import { notifications } from './notifications.ts'
import { operators } from './operators.ts'
import { permitsTopic } from './permits.ts'
import { purity } from './purity.ts'
import { records } from './records.ts'
import { stock } from './stock.ts'
import { time } from './time.ts'
import { tokens } from './tokens.ts'
import { view } from './view.ts'

/** Everything that is promised about the model, by topic. */
export const topics = {
  adoption,
  batch,
  delay,
  downgrade,
  exclusion,
  expiry,
  fifo,
  notifications,
  operators,
  permits: permitsTopic,
  purity,
  fastStep,
  records,
  stock,
  time,
  tokens,
  view,
} satisfies Record<string, Topic>
