/** The text of `holdfast help NAME`. */
export interface Help {
  readonly usage: string
  readonly about: string
  readonly examples: readonly (readonly [what: string, line: string])[]
  readonly options: readonly (readonly [flag: string, meaning: string])[]
  readonly exits?: readonly (readonly [code: string, meaning: string])[]
}

export interface CliCommand {
  readonly help: Help
  /** Returns the exit code. */
  run(args: readonly string[]): Promise<number>
}

export interface CommandEntry {
  readonly name: string
  readonly summary: string
  /** A command for programs, not shown to users. */
  readonly hidden?: boolean
  load(): Promise<CliCommand>
}

export const STORE_OPTION = [
  '--store URL',
  'where the locks are; else HOLDFAST_STORE, else an SQLite file',
] as const
export const JSON_OPTION = ['--json', 'print JSON'] as const
