import entries from '../../entries.json' with { type: 'json' }

/** The imports that a room may have besides its own files: paths of files, or of folders with a slash at the end. */
export interface Room {
  /** The folder, or the file, that the wall stands around. */
  readonly inside: string
  readonly may: readonly string[]
}

const CONTRACT = [
  'src/core/store.ts',
  'src/core/facts.ts',
  'src/core/runtime.ts',
  // Options of stores, too, may be durations or misspelt, and must be refused in the same words.
  'src/core/check.ts',
  'src/core/durations.ts',
  'src/core/optional-peer.ts',
  'src/core/parameters.ts',
  'src/core/tls.ts',
  'src/model/index.ts',
  'src/errors.ts',
]

/** A lease in a table, or a lock of a session. */
const DATABASE = [
  ...CONTRACT,
  'src/stores/shared/',
  'src/stores/sql-server/*.ts',
  'src/stores/sql-server/tables/',
  'src/stores/sql-server/advisory/',
]

const CONSENSUS = [...CONTRACT, 'src/core/calls/timer-heap.ts', 'src/stores/shared/', 'node:']

/** The exports of `holdfast` and its subpaths: the only way in for rooms that could as well be outside. */
const PUBLIC = Object.values(entries)

/** In this order: the first room that a file is in counts. */
export const ROOMS: readonly Room[] = [
  { inside: 'src/errors.ts', may: [] },
  { inside: 'src/model/', may: [] },
  { inside: 'src/core/', may: ['src/model/index.ts', 'src/errors.ts', 'node:'] },
  // Stores do not know each other; the code that several of them need is shared. Databases that are servers have more in common. Where
  // they push nothing, each of many waiters has its own time to look.
  {
    inside: 'src/stores/sql-server/tables/',
    may: [...CONTRACT, 'src/core/calls/timer-heap.ts', 'src/stores/shared/', 'src/stores/sql-server/*.ts'],
  },
  { inside: 'src/stores/sql-server/postgres/', may: DATABASE },
  { inside: 'src/stores/sql-server/mysql/', may: DATABASE },
  { inside: 'src/stores/sql-server/*/', may: [...CONTRACT, 'src/stores/sql-server/*.ts', 'node:'] },
  { inside: 'src/stores/sql-server/*.ts', may: [...CONTRACT, 'src/stores/sql-server/*.ts'] },
  // The nodes of a quorum are Redis servers, reached through the same clients; its rounds have deadlines of their own.
  {
    inside: 'src/stores/quorum/',
    may: [
      ...CONTRACT,
      'src/core/calls/timer-heap.ts',
      'src/stores/redis/clients/',
      'src/stores/redis/codec.ts',
      'src/stores/redis/names.ts',
      'src/stores/redis/scan.ts',
      'src/stores/redis/scripting.ts',
      'src/stores/redis/state.ts',
    ],
  },
  // Their claims end by deadlines of their own, of which a process may have many thousands.
  { inside: 'src/stores/etcd/', may: CONSENSUS },
  { inside: 'src/stores/zookeeper/', may: CONSENSUS },
  { inside: 'src/stores/shared/', may: CONTRACT },
  // `holdfast/redis` also exports the recipe for transactions.
  {
    inside: 'src/stores/redis/index.ts',
    may: [...CONTRACT, 'src/stores/redis/', 'src/recipes/transaction/index.ts'],
  },
  { inside: 'src/stores/*/', may: [...CONTRACT, 'src/stores/shared/', 'node:'] },
  // Rooms that speak to resources and frameworks live in real time: nothing of them runs under a simulated clock.
  {
    inside: 'src/recipes/guard/',
    // A fence must lie in the slot of its key.
    may: [
      'src/core/check.ts',
      'src/core/durations.ts',
      'src/errors.ts',
      'src/stores/redis/cluster/slots.ts',
      'node:',
    ],
  },
  {
    inside: 'src/recipes/http/',
    may: [
      'src/core/check.ts',
      'src/core/durations.ts',
      'src/core/runtime.ts',
      'src/errors.ts',
      'src/recipes/*.ts',
      'node:',
    ],
  },
  {
    inside: 'src/recipes/nestjs/',
    may: [
      'src/index.ts',
      'src/core/check.ts',
      'src/core/option-names.ts',
      'src/recipes/once.ts',
      '@nestjs/common',
    ],
  },
  // It runs over the clients of Redis, beside any store.
  {
    inside: 'src/recipes/transaction/',
    may: [
      'src/core/check.ts',
      'src/core/durations.ts',
      'src/core/runtime.ts',
      'src/stores/redis/clients/client.ts',
      'src/errors.ts',
    ],
  },
  {
    inside: 'src/recipes/',
    may: [
      'src/core/api.ts',
      'src/core/check.ts',
      'src/core/durations.ts',
      'src/core/events.ts',
      'src/core/option-names.ts',
      'src/core/runtime.ts',
      'src/core/store.ts',
      'src/model/index.ts',
      'src/errors.ts',
    ],
  },
  // Joins the facade, as the recipes do.
  {
    inside: 'src/observe/doctor/',
    may: [
      'src/core/check.ts',
      'src/core/durations.ts',
      'src/core/events.ts',
      'src/core/facts.ts',
      'src/core/options.ts',
      'src/core/runtime.ts',
      'src/observe/patterns.ts',
      'src/core/store.ts',
      'src/model/index.ts',
      'src/errors.ts',
      'node:',
    ],
  },
  {
    inside: 'src/observe/deadlock/',
    may: [
      'src/core/reentry/actors.ts',
      'src/core/reentry/blockage.ts',
      'src/core/options.ts',
      'src/core/runtime.ts',
      'src/core/store.ts',
      'src/model/index.ts',
      'src/errors.ts',
    ],
  },
  // Its options are checked, and it waits, so that both come in as they do elsewhere.
  {
    inside: 'src/observe/',
    may: [...PUBLIC, 'src/core/check.ts', 'src/core/durations.ts', 'src/core/runtime.ts', 'node:'],
  },
  // The lab compares Redis with SQLite itself, not with the store over it.
  {
    inside: 'lab/generations/',
    may: [...PUBLIC, 'src/cli/', 'src/core/nearest.ts', 'src/stores/sqlite/binding.ts', 'node:'],
  },
  // It tells what opening a database has done to it.
  {
    inside: 'src/cli/migrate.ts',
    may: [...PUBLIC, 'src/cli/', 'src/stores/sql-server/*/open.ts', 'src/stores/sql-server/tables/store.ts'],
  },
  {
    inside: 'src/cli/',
    may: [...PUBLIC, 'src/core/nearest.ts', 'lab/generations/', 'package.json', 'node:'],
  },
  { inside: 'src/testing/', may: [...PUBLIC, ...CONTRACT, 'src/recipes/stock-records.ts', 'node:'] },
  // Where the parts are put together.
  { inside: 'src/toolkit.ts', may: ['src/core/', 'src/recipes/index.ts', 'src/observe/*/index.ts'] },
  { inside: 'src/connect.ts', may: ['src/core/', 'src/stores/', 'src/errors.ts', 'src/toolkit.ts'] },
  {
    inside: 'src/index.ts',
    may: [
      'src/core/',
      'src/stores/',
      'src/recipes/',
      'src/observe/doctor/',
      'src/model/index.ts',
      'src/errors.ts',
      'src/connect.ts',
      'src/toolkit.ts',
    ],
  },
]

/** Where the clients of servers are loaded when a URL asks for them; elsewhere a user brings one. */
export const LOADERS: Readonly<Record<string, readonly string[]>> = {
  'src/stores/redis/open.ts': ['ioredis', 'redis'],
  'src/stores/sql-server/postgres/open.ts': ['pg', 'postgres'],
  'src/stores/sql-server/postgres/clients/postgres-session.ts': ['postgres'],
  'src/stores/redis/open-sentinel.ts': ['ioredis', 'redis'],
  'src/stores/redis/open-cluster.ts': ['ioredis', 'redis'],
  'src/stores/sql-server/mysql/open.ts': ['mysql2/promise', 'mariadb'],
  'src/stores/quorum/open.ts': ['ioredis', 'redis'],
  'src/observe/opentelemetry/index.ts': ['@opentelemetry/api'],
}

/** Frameworks that the users of an entry point have anyway; their types do not reach ours. */
export const FRAMEWORKS: Readonly<Record<string, readonly string[]>> = {
  'src/recipes/nestjs/decorators.ts': ['@nestjs/common'],
}

/** The rooms in which everything runs under a simulated clock. */
export const SIMULATED = [
  'src/errors.ts',
  'src/model/',
  'src/core/',
  'src/stores/',
  'src/recipes/',
  'src/observe/deadlock/',
]

/** Where time and chance come in: the one door, and the clock files of stores, each with its reason. */
export const DOORS: Readonly<Record<string, { readonly uses: readonly string[]; readonly why: string }>> = {
  'src/core/runtime.ts': {
    uses: ['performance', 'setTimeout', 'Date.now', 'Math.random', 'node:crypto'],
    why: 'the one door',
  },
  'src/recipes/http/keys.ts': {
    uses: ['node:crypto'],
    why: 'a hash of the request; nothing in it is left to chance',
  },
  'src/stores/sql-server/advisory/session-server.ts': {
    uses: ['node:crypto'],
    why: 'a hash of the key, because servers know session locks by numbers and short names',
  },
  'src/stores/zookeeper/client/digest-md5.ts': {
    uses: ['node:crypto'],
    why: 'the hash that a login by SASL is made of',
  },
  'src/stores/sqlite/boot.ts': {
    uses: ['process.hrtime'],
    why: 'the machine-wide origin of the monotonic clock, read once; the runtime adds the time since',
  },
}

/** Stores neither sleep nor retry, except for these, each with its reason. */
export const SLEEPERS: Readonly<Record<string, { readonly uses: string; readonly why: string }>> = {
  'src/stores/etcd/notifications.ts': {
    uses: 'setTimer',
    why: 'an inbox whose watch was compacted away and whose look failed is looked through again',
  },
  'src/stores/sqlite/busy.ts': {
    uses: 'Atomics.wait',
    why: 'opening is synchronous, and a busy file is free again sooner than any timer would fire',
  },
  'src/stores/sqlite/work-queue.ts': {
    uses: 'setTimer',
    why: 'a file that another process writes to is tried again, because waiting inside SQLite would block the event loop',
  },
  'src/stores/sqlite/admin.ts': {
    uses: 'setTimer',
    why: 'a long listing gives others the event loop between two pages',
  },
  'src/stores/sqlite/inbox.ts': {
    uses: 'setTimer',
    why: 'a replaced inbox file is read a little longer, for notifications in flight',
  },
  'src/stores/sql-server/tables/compare-and-swap.ts': {
    uses: 'setTimer',
    why: 'a row that others change at the same time is tried again, after a random pause under contention',
  },
  'src/stores/sql-server/tables/inbox.ts': {
    uses: 'setTimer',
    why: 'the server has no push, so a process with holds polls its inbox',
  },
  'src/stores/sql-server/statement-timeout.ts': {
    uses: 'setTimer',
    why: 'a statement that is not answered must not keep its connection',
  },
  'src/stores/sql-server/advisory/session.ts': {
    uses: 'setTimer',
    why: 'the server ends a session without heartbeats, and a silent server is given up',
  },
  'src/stores/sql-server/advisory/expiry.ts': {
    uses: 'setTimer',
    why: 'a session lock has no ttl, so each hold ends by the clock of its own process',
  },
  'src/stores/sql-server/postgres/listener.ts': {
    uses: 'setTimer',
    why: 'the listening connection is checked, and replaced when it breaks',
  },
  'src/stores/sql-server/postgres/inbox.ts': {
    uses: 'setTimer',
    why: 'the first claim does not wait long for the listening connection',
  },
  'src/stores/zookeeper/client/sessions.ts': {
    uses: 'setTimer',
    why: 'a session that is not needed any more stays for whoever has just got it',
  },
  'src/stores/zookeeper/client/session.ts': {
    uses: 'setTimer',
    why: 'a session is kept by pings, and a server that is silent or gone is replaced by another',
  },
  'src/stores/redis/check/check.ts': {
    uses: 'setTimer',
    why: 'the server is looked at only after the first locks, and never for a process that ends at once',
  },
  'src/stores/etcd/client/cluster.ts': {
    uses: 'setTimer',
    why: 'every call has a deadline of its own, and a member that is slow is left for another before that',
  },
  'src/stores/etcd/client/keep-alive.ts': {
    uses: 'setTimer',
    why: 'a stream that is silent is given up, not waited for',
  },
  'src/stores/etcd/client/watcher.ts': {
    uses: 'setTimer',
    why: 'a watch that broke begins again, after a pause while no member answers',
  },
  'src/stores/etcd/queue.ts': {
    uses: 'setTimer',
    why: 'while more claims arrive than are read at once, and after a look that failed, the next in the queue looks again',
  },
  'src/stores/etcd/client/leases.ts': {
    uses: 'setTimer',
    why: 'leases that claims wait for are kept alive',
  },
  'src/stores/etcd/expiry.ts': {
    uses: 'setTimer',
    why: 'a key that an expiry closed is opened when its lock delay is over',
  },
  'src/stores/quorum/nodes.ts': {
    uses: 'setTimer',
    why: 'a node is not waited for longer than its own deadline, which is shorter than that of the call',
  },
  'src/stores/quorum/election.ts': {
    uses: 'setTimer',
    why: 'a split vote, which only several nodes can have, is repeated after a random delay',
  },
  'src/stores/quorum/waiting-claims.ts': {
    uses: 'setTimer',
    why: 'the calls of several nodes about one release are gathered before the waiter is told',
  },
  'src/stores/quorum/gather.ts': {
    uses: 'setTimer',
    why: 'the slower nodes are waited for a moment longer than a majority, and none for ever',
  },
  'src/stores/redis/clients/replacing.ts': {
    uses: 'setTimer',
    why: 'a connection that is silent for too long is replaced: TCP gives up only after many minutes',
  },
  'src/stores/redis/clients/resilient-subscription.ts': {
    uses: 'setTimer',
    why: 'a subscription that hangs is opened anew, and tells nobody that it does',
  },
  'src/stores/redis/cluster/roaming-subscription.ts': {
    uses: 'setTimer',
    why: 'a subscription that broke is made again at another server, after a pause',
  },
}
