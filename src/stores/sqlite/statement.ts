import type { SqliteStatement, SqlValue } from './binding.ts'

/** A statement that is made when it is first used, because making all of them is most of the cost of opening. */
export class LazyStatement implements SqliteStatement {
  private readonly make: () => SqliteStatement
  private made: SqliteStatement | null = null

  constructor(make: () => SqliteStatement) {
    this.make = make
  }

  run(...parameters: readonly SqlValue[]): ReturnType<SqliteStatement['run']> {
    return this.statement.run(...parameters)
  }

  get(...parameters: readonly SqlValue[]): unknown {
    return this.statement.get(...parameters)
  }

  all(...parameters: readonly SqlValue[]): unknown[] {
    return this.statement.all(...parameters)
  }

  /** The package keeps a closed file open until the last of its statements is collected. */
  forget(): void {
    this.made = null
  }

  private get statement(): SqliteStatement {
    this.made ??= this.make()
    return this.made
  }
}
