import { TABLE_FORMAT } from '../tables/format.ts'
import type { TableNames } from '../tables/names.ts'

/**
 * A key keeps its row for a day after its last grant, because of its last sequence number. A claim that finds the key free lies in that
 * row (`holder` and the columns after it), so that an uncontended lock writes one row. All other claims have rows of their own.
 * Texts are bytes, so that no collation takes two keys for one.
 */
export function schemaOf(names: TableNames): readonly string[] {
  const { keys, records, meta, index } = names
  return [
    `CREATE TABLE IF NOT EXISTS ${meta} (
  name VARBINARY(64) NOT NULL PRIMARY KEY,
  value VARBINARY(255) NOT NULL
) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS ${keys} (
  \`key\` VARBINARY(1024) NOT NULL PRIMARY KEY,
  revision BIGINT NOT NULL,
  seq BIGINT NOT NULL,
${KEY_COLUMNS.map(([name, type]) => `  ${name} ${type},`).join('\n')}
  forget_at BIGINT NOT NULL,
  INDEX ${index('keys_forget')} (forget_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    claimsTable(names),
    `CREATE TABLE IF NOT EXISTS ${records} (
  \`key\` VARBINARY(1024) NOT NULL PRIMARY KEY,
  revision BIGINT NOT NULL,
  version BIGINT NOT NULL,
  value LONGBLOB,
  expires_at BIGINT,
  forget_at BIGINT,
  INDEX ${index('records_forget')} (forget_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    `INSERT IGNORE INTO ${meta} (name, value) VALUES ('format', '${TABLE_FORMAT}')`,
  ]
}

const KEY_COLUMNS = [
  ['mode', 'VARBINARY(16)'],
  ['permits', 'INT NOT NULL DEFAULT 0'],
  ['holds', 'INT NOT NULL DEFAULT 0'],
  ['used', 'INT NOT NULL DEFAULT 0'],
  ['waiting', 'INT NOT NULL DEFAULT 0'],
  ['others', 'INT NOT NULL DEFAULT 0'],
  ['next_ticket', 'BIGINT NOT NULL DEFAULT 1'],
  ['closed_until', 'BIGINT NOT NULL DEFAULT 0'],
  ['holder', 'VARBINARY(255)'],
  ['hold_seq', 'BIGINT NOT NULL DEFAULT 0'],
  ['weight', 'INT NOT NULL DEFAULT 0'],
  ['owner', 'VARBINARY(1024)'],
  ['actor', 'VARBINARY(1024)'],
  ['label', 'VARBINARY(1024)'],
  ['meta', 'BLOB'],
  ['inbox', 'VARBINARY(255)'],
  ['since', 'BIGINT NOT NULL DEFAULT 0'],
  ['expires_at', 'BIGINT NOT NULL DEFAULT 0'],
  ['lock_delay', 'BIGINT NOT NULL DEFAULT 0'],
] as const

function claimsTable({ claims, index }: TableNames): string {
  return `CREATE TABLE IF NOT EXISTS ${claims} (
  \`key\` VARBINARY(1024) NOT NULL,
  id VARBINARY(255) NOT NULL,
  state VARBINARY(16) NOT NULL,
  ticket BIGINT NOT NULL,
  mode VARBINARY(16) NOT NULL,
  permits INT NOT NULL,
  weight INT NOT NULL,
  seq BIGINT NOT NULL,
  owner VARBINARY(1024),
  actor VARBINARY(1024),
  label VARBINARY(1024) NOT NULL,
  meta BLOB,
  inbox VARBINARY(255),
  since BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  ttl BIGINT NOT NULL,
  lock_delay BIGINT NOT NULL,
  PRIMARY KEY (\`key\`, id),
  INDEX ${index('claims_queue')} (\`key\`, state, ticket),
  INDEX ${index('claims_expiry')} (\`key\`, state, expires_at),
  INDEX ${index('claims_owner')} (\`key\`, owner)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`
}

/** Upgrades format 1, whose keys are all free: only their last sequence numbers are kept. */
export function upgradeStatements(names: TableNames): readonly string[] {
  const added = KEY_COLUMNS.filter(([name]) => name !== 'holder' && name !== 'expires_at')
  return [
    `UPDATE ${names.keys} SET holder = NULL, expires_at = 0`,
    `ALTER TABLE ${names.keys} DROP COLUMN state, MODIFY expires_at BIGINT NOT NULL DEFAULT 0,
      ${added.map(([name, type]) => `ADD COLUMN ${name} ${type}`).join(', ')}`,
    claimsTable(names),
    `UPDATE ${names.meta} SET value = '${TABLE_FORMAT}' WHERE name = 'format'`,
  ]
}
