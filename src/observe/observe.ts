import { checkFunction, checkLocks, checkOptions, checkRuntime, type NamesOf } from '../core/check.ts'
import type { Runtime } from '../core/runtime.ts'
import type { Alarm } from './alarms/rules.ts'
import { type AlarmOptions, AlarmWatch } from './alarms/watch.ts'
import { Webhook, type WebhookOptions } from './alarms/webhook.ts'
import { Collector, type CollectorOptions, type Observed } from './collector.ts'
import { checkLogger, type Logger, logTo, redacted } from './log.ts'

export interface ObserveOptions extends CollectorOptions, AlarmOptions {
  /** Called when a rule begins to fire, and when it stops. */
  readonly onAlarm?: (alarm: Alarm) => unknown
  /** The receiver of alarms. */
  readonly webhook?: string | WebhookOptions
  /** Gets failures and alarms; `console` and pino fit. */
  readonly logger?: Logger
  /** Time, for tests. */
  readonly runtime?: Runtime
}

const OPTIONS: NamesOf<ObserveOptions> = {
  keyPattern: true,
  maxPatterns: true,
  rules: true,
  window: true,
  every: true,
  onAlarm: true,
  webhook: true,
  logger: true,
  runtime: true,
}

/** Watches locks. */
export interface Observer {
  readonly collector: Collector
  readonly locks: readonly Observed[]
  /** Stops watching; leaves no timer, request or listener behind. */
  close(): void
}

/** Watches these locks from now on: counts, and optionally writes to a log and raises alarms. */
export function observe(locks: Observed | readonly Observed[], options: ObserveOptions = {}): Observer {
  const watched = Array.isArray(locks) ? (locks as readonly Observed[]) : [locks as Observed]
  for (const each of watched) checkLocks(each, 'on', 'meter', 'local')
  const { onAlarm, webhook, logger, keyPattern, maxPatterns } = checkOptions('options', options, OPTIONS)
  const runtime = checkRuntime(options.runtime)
  if (onAlarm !== undefined) checkFunction('onAlarm', onAlarm)
  if (logger !== undefined) checkLogger(logger)
  const collector = new Collector({
    ...(keyPattern !== undefined && { keyPattern }),
    ...(maxPatterns !== undefined && { maxPatterns }),
  })
  const stops: (() => void)[] = [() => collector.close()]
  const tellers: ((alarm: Alarm) => unknown)[] = []
  if (onAlarm !== undefined) tellers.push(onAlarm)
  if (logger !== undefined) tellers.push((alarm) => logAlarm(logger, alarm))
  if (webhook !== undefined) {
    const sender = new Webhook(
      typeof webhook === 'string' ? { url: webhook } : webhook,
      runtime,
      (why, alarm) =>
        complain(logger, `an alarm (${alarm.alert}) could not be sent to ${sender.shown}: ${why}`),
    )
    stops.push(() => sender.close())
    tellers.push((alarm) => sender.send(alarm))
  }
  if (tellers.length > 0) {
    const watch = new AlarmWatch(collector, runtime, options, (alarm) => {
      for (const tell of tellers) void attempt(tell, alarm, logger)
    })
    stops.push(() => watch.close())
  }
  for (const each of watched) collector.watch(each)
  if (logger !== undefined) for (const each of watched) stops.push(logTo(each, logger))
  return {
    collector,
    locks: watched,
    close: () => {
      for (const stop of stops.splice(0)) stop()
    },
  }
}

/** A hook that throws or rejects must not end the process. */
async function attempt(
  tell: (alarm: Alarm) => unknown,
  alarm: Alarm,
  logger: Logger | undefined,
): Promise<void> {
  try {
    await tell(alarm)
  } catch (error) {
    complain(logger, `a hook for alarms failed: ${redacted(String(error))}`)
  }
}

function logAlarm(logger: Logger, alarm: Alarm): void {
  const about = alarm.pattern === null ? '' : ` (${alarm.pattern})`
  if (alarm.state === 'firing') logger.warn(alarm, `${alarm.summary}${about}`)
  else logger.info(alarm, `over: ${alarm.summary}${about}`)
}

function complain(logger: Logger | undefined, message: string): void {
  if (logger === undefined) process.emitWarning(message, 'HoldfastWarning')
  else logger.error({}, message)
}
