import type { Runtime } from '../core/runtime.ts'
import type { Soon, StoreNotice } from '../core/store.ts'

export type CallName = 'attempt' | 'renew' | 'release' | 'admin' | 'records'

/** A fault of one call on its way to the store and back. */
export type Fault =
  /** The call goes through. For scripts such as "the second one fails". */
  | { readonly kind: 'none' }
  /** The store never sees the request; the caller gets an error. */
  | { readonly kind: 'lose request' }
  /** The store serves the call; the caller gets an error. */
  | { readonly kind: 'lose reply' }
  /** The request is delayed. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The store gets the request a second time, this long after its first answer. */
  | { readonly kind: 'duplicate'; readonly afterMs: number }
  /** The request, or its reply, waits at the gate until it is opened. */
  | { readonly kind: 'hang'; readonly gate: Gate; readonly at: 'request' | 'reply' }

/** A fault of a notice. */
export type NoticeFate =
  | { readonly kind: 'pass' }
  | { readonly kind: 'drop' }
  | { readonly kind: 'double' }
  | { readonly kind: 'delay'; readonly ms: number }

/** The error of a lost request or reply. */
export class LostCallError extends Error {
  constructor(call: CallName, what: string) {
    super(`${call}: the ${what} was lost on purpose`)
    this.name = 'LostCallError'
  }
}

/** A gate that holds calls back. */
export class Gate {
  /** Resolves when the first call waits at the gate. */
  readonly reached: Promise<void>
  private readonly opened: Promise<void>
  private markReached = () => {}
  private markOpened = () => {}

  constructor() {
    this.reached = new Promise((resolve) => {
      this.markReached = resolve
    })
    this.opened = new Promise((resolve) => {
      this.markOpened = resolve
    })
  }

  open(): void {
    this.markOpened()
  }

  pass(): Promise<void> {
    this.markReached()
    return this.opened
  }
}

/** The script of a faulty store: the fault of each call. */
export class Faults {
  private readonly scripts = new Map<CallName, Fault[]>()
  private readonly standing = new Map<CallName, Fault>()
  private readonly gates: Gate[] = []
  private fateOf: (notice: StoreNotice) => NoticeFate = () => ({ kind: 'pass' })
  private readonly runtime: Runtime

  constructor(runtime: Runtime) {
    this.runtime = runtime
  }

  /** The next calls of that name get these faults, one each; later calls go through. */
  next(call: CallName, ...faults: Fault[]): void {
    const script = this.scripts.get(call) ?? []
    this.scripts.set(call, [...script, ...faults])
  }

  /** Every call of that name gets the fault until `heal`. A script for the next calls goes first. */
  every(call: CallName, fault: Fault): void {
    this.standing.set(call, fault)
  }

  /** The next call of that name waits at the returned gate. */
  hang(call: CallName, at: 'request' | 'reply' = 'request'): Gate {
    const gate = new Gate()
    this.gates.push(gate)
    this.next(call, { kind: 'hang', gate, at })
    return gate
  }

  /** Decides about each notice that the store pushes. */
  notices(fate: NoticeFate | ((notice: StoreNotice) => NoticeFate)): void {
    this.fateOf = typeof fate === 'function' ? fate : () => fate
  }

  /** A dead process or a cut cable: no call gets through in either direction. */
  cut(): void {
    for (const call of ['attempt', 'renew', 'release', 'admin', 'records'] as const) {
      this.every(call, { kind: 'lose request' })
    }
    this.notices({ kind: 'drop' })
  }

  /** Ends all faults and opens every gate. */
  heal(): void {
    this.scripts.clear()
    this.standing.clear()
    this.fateOf = () => ({ kind: 'pass' })
    for (const gate of this.gates.splice(0)) gate.open()
  }

  noticeFate(notice: StoreNotice): NoticeFate {
    return this.fateOf(notice)
  }

  pass<T>(call: CallName, send: () => Soon<T>): Soon<T> {
    const fault = this.scripts.get(call)?.shift() ?? this.standing.get(call)
    return fault === undefined || fault.kind === 'none' ? send() : this.suffer(call, fault, send)
  }

  private async suffer<T>(call: CallName, fault: Fault, send: () => Soon<T>): Promise<T> {
    switch (fault.kind) {
      case 'none':
        return send()
      case 'lose request':
        throw new LostCallError(call, 'request')
      case 'lose reply':
        await send()
        throw new LostCallError(call, 'reply')
      case 'delay':
        await this.pause(fault.ms)
        return send()
      case 'duplicate': {
        const answer = await send()
        void this.pause(fault.afterMs).then(send).catch(ignore)
        return answer
      }
      case 'hang': {
        if (fault.at === 'request') await fault.gate.pass()
        const answer = await send()
        if (fault.at === 'reply') await fault.gate.pass()
        return answer
      }
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.runtime.setTimer(resolve, ms, true)
    })
  }
}

/** The result of a duplicate is ignored. */
function ignore(): void {}
