import { FORMAT } from '../format.ts'
import type { TableNames } from '../server/names.ts'

/**
 * A key keeps its row for a day after its last grant, because of its last sequence number; `state` is null while it is
 * free. `holder` and `expires_at` repeat what the state says where it says no more than that, for statements that decide
 * by themselves. Everything is kept as bytes, so that no collation takes two keys for one.
 */
export function schemaOf({ keys, records, meta, index }: TableNames): readonly string[] {
  return [
    `CREATE TABLE IF NOT EXISTS ${meta} (
  name VARBINARY(64) NOT NULL PRIMARY KEY,
  value VARBINARY(255) NOT NULL
) ENGINE = InnoDB`,
    `CREATE TABLE IF NOT EXISTS ${keys} (
  \`key\` VARBINARY(1024) NOT NULL PRIMARY KEY,
  revision BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  holder VARBINARY(255),
  expires_at BIGINT NOT NULL,
  state LONGBLOB,
  forget_at BIGINT NOT NULL,
  INDEX ${index('keys')} (forget_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    `CREATE TABLE IF NOT EXISTS ${records} (
  \`key\` VARBINARY(1024) NOT NULL PRIMARY KEY,
  revision BIGINT NOT NULL,
  version BIGINT NOT NULL,
  value LONGBLOB,
  expires_at BIGINT,
  forget_at BIGINT,
  INDEX ${index('records')} (forget_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC`,
    `INSERT IGNORE INTO ${meta} (name, value) VALUES ('format', '${FORMAT}')`,
  ]
}
