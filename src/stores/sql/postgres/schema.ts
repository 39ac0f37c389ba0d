import { FORMAT } from '../format.ts'
import type { TableNames } from '../server/names.ts'

/**
 * A key keeps its row for a day after its last grant, because of its last sequence number; `state` is null while it is
 * free. `holder` and `expires_at` repeat what the state says where it says no more than that, for statements that decide
 * by themselves. Rows have room for the next version of themselves beside them, as no index names what changes often.
 */
export function schemaOf({ keys, records, meta, index }: TableNames): string {
  return `
CREATE TABLE IF NOT EXISTS ${meta} (
  name text PRIMARY KEY,
  value text NOT NULL
);
CREATE TABLE IF NOT EXISTS ${keys} (
  key text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  seq bigint NOT NULL,
  holder text,
  expires_at bigint NOT NULL,
  state text,
  forget_at bigint NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS ${index('keys')} ON ${keys} (forget_at);
CREATE TABLE IF NOT EXISTS ${records} (
  key text COLLATE "C" PRIMARY KEY,
  revision bigint NOT NULL,
  version bigint NOT NULL,
  value text,
  expires_at bigint,
  forget_at bigint
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS ${index('records')} ON ${records} (forget_at) WHERE forget_at IS NOT NULL;
INSERT INTO ${meta} (name, value) VALUES ('format', '${FORMAT}') ON CONFLICT (name) DO NOTHING;
`.trimStart()
}

/** Two processes that make the tables at the same time would get in each other's way; the number means nothing. */
export function guardedSchema(names: TableNames): string {
  return `SELECT pg_advisory_xact_lock(7309453721846312); ${schemaOf(names)}`
}
