import { TABLE_FORMAT } from '../tables/format.ts'
import type { TableNames } from '../tables/names.ts'

/**
 * A key keeps its row for a day after its last grant, because of its last sequence number. A claim that finds the key free lies in that
 * row (`holder` and the columns after it), so that an uncontended lock writes one row. All other claims have rows of their own.
 * The fill factor leaves room for the next version of a row on its page, because no index has a column that changes often.
 */
export function schemaOf({ keys, claims, records, meta, index }: TableNames): string {
  return `
CREATE TABLE IF NOT EXISTS ${meta} (
  name text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE IF NOT EXISTS ${keys} (
  key text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  seq bigint NOT NULL,
${KEY_COLUMNS.map(([name, type]) => `  ${name} ${type},`).join('\n')}
  forget_at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS ${index('keys_forget')} ON ${keys} (forget_at);
${claimsTable(claims, index)}
CREATE TABLE IF NOT EXISTS ${records} (
  key text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  version bigint NOT NULL,
  value text,
  expires_at bigint,
  forget_at bigint
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS ${index('records_forget')} ON ${records} (forget_at) WHERE forget_at IS NOT NULL;
INSERT INTO ${meta} (name, value) VALUES ('format', '${TABLE_FORMAT}') ON CONFLICT (name) DO NOTHING;
`.trimStart()
}

const KEY_COLUMNS = [
  ['mode', 'text'],
  ['permits', 'integer NOT NULL DEFAULT 0'],
  ['holds', 'integer NOT NULL DEFAULT 0'],
  ['used', 'integer NOT NULL DEFAULT 0'],
  ['waiting', 'integer NOT NULL DEFAULT 0'],
  ['others', 'integer NOT NULL DEFAULT 0'],
  ['next_ticket', 'bigint NOT NULL DEFAULT 1'],
  ['closed_until', 'bigint NOT NULL DEFAULT 0'],
  ['holder', 'text'],
  ['hold_seq', 'bigint NOT NULL DEFAULT 0'],
  ['weight', 'integer NOT NULL DEFAULT 0'],
  ['owner', 'text'],
  ['actor', 'text'],
  ['label', 'text'],
  ['meta', 'text'],
  ['inbox', 'text'],
  ['since', 'bigint NOT NULL DEFAULT 0'],
  ['expires_at', 'bigint NOT NULL DEFAULT 0'],
  ['lock_delay', 'bigint NOT NULL DEFAULT 0'],
] as const

function claimsTable(claims: string, index: TableNames['index']): string {
  return `CREATE TABLE IF NOT EXISTS ${claims} (
  key text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  state text NOT NULL,
  ticket bigint NOT NULL,
  mode text NOT NULL,
  permits integer NOT NULL,
  weight integer NOT NULL,
  seq bigint NOT NULL,
  owner text,
  actor text,
  label text NOT NULL,
  meta text,
  inbox text,
  since bigint NOT NULL,
  expires_at bigint NOT NULL,
  ttl bigint NOT NULL,
  lock_delay bigint NOT NULL,
  PRIMARY KEY (key, id)
) WITH (fillfactor = 70);
CREATE INDEX IF NOT EXISTS ${index('claims_queue')} ON ${claims} (key, ticket) WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS ${index('claims_expiry')} ON ${claims} (key, state, expires_at);
CREATE INDEX IF NOT EXISTS ${index('claims_owner')} ON ${claims} (key, owner) WHERE owner IS NOT NULL;`
}

/** Upgrades format 1, whose keys are all free: only their last sequence numbers are kept. */
export function upgradeStatements({ keys, claims, meta, index }: TableNames): string {
  return `ALTER TABLE ${keys} DROP COLUMN IF EXISTS state, DROP COLUMN IF EXISTS holder, DROP COLUMN IF EXISTS expires_at;
${KEY_COLUMNS.map(([name, type]) => `ALTER TABLE ${keys} ADD COLUMN IF NOT EXISTS ${name} ${type};`).join('\n')}
${claimsTable(claims, index)}
UPDATE ${meta} SET value = '${TABLE_FORMAT}' WHERE name = 'format';`
}

/** Two processes that create the tables at the same time would conflict. The number is arbitrary. */
export function guardedSchema(names: TableNames): string {
  return `SELECT pg_advisory_xact_lock(7309453721846312); ${schemaOf(names)}`
}
