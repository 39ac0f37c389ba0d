import type { MysqlClient, Row, Value } from './clients/client.ts'

/** One statement of a transaction; if it changes other than `affects` rows, nothing of the transaction is done. */
export interface TxStep {
  readonly text: string
  readonly values: readonly Value[]
  readonly affects?: number
}

/**
 * Several statements that are done together or not at all. MariaDB runs through them in one go, so that a process that stands still in
 * the middle holds up nobody; MySQL takes them one by one. Resolves to what `answer` brings, or null when nothing was done.
 */
export async function atomically(
  client: MysqlClient,
  mariadb: boolean,
  steps: readonly TxStep[],
  answer: TxStep | null = null,
): Promise<Row | null> {
  if (!mariadb) return (await client.transaction(steps)) ? {} : null
  const values = steps.flatMap((step) => step.values)
  const { rows } = await client.run(inOneGo(steps, answer), [...values, ...(answer?.values ?? [])])
  const [row] = rows
  return row !== undefined && Number(row.done) === 1 ? row : null
}

function inOneGo(steps: readonly TxStep[], answer: TxStep | null): string {
  const restore = 'SET SESSION innodb_lock_wait_timeout = @holdfast_wait;'
  const texts = steps.map(
    ({ text, affects }) =>
      `${text}; ${affects === undefined ? '' : `IF ROW_COUNT() <> ${affects} THEN SET @holdfast_done = 0; END IF;`}`,
  )
  return `BEGIN NOT ATOMIC
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; ${restore} RESIGNAL; END;
    SET @holdfast_done = 1, @holdfast_wait = @@SESSION.innodb_lock_wait_timeout; SET SESSION innodb_lock_wait_timeout = 1;
    START TRANSACTION; ${texts.join(' ')}
    IF @holdfast_done = 1 THEN COMMIT; ELSE ROLLBACK; END IF; ${restore}
    ${answer === null ? 'SELECT @holdfast_done AS done' : answer.text};
    END`
}
