import type { IForbiddenRuleType } from 'dependency-cruiser';

/**
 * The rooms of src/, and which rooms each may import. A room is a folder of src/ or a single file (`config` is
 * src/host/config.ts). The import rules below are derived from this table.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  wire: ['domain'],
  compaction: ['domain'],
  store: ['wire', 'domain'],
  // `store/redis` for connections. BullMQ needs them, too.
  jobs: ['store', 'wire', 'domain'],
  // Workers, telemetry and evaluation import only types of `store` (rule `types-of-store`).
  workers: ['store', 'jobs', 'compaction', 'wire', 'domain'],
  providers: ['jobs', 'wire', 'domain'],
  summarize: ['providers', 'compaction', 'wire', 'domain'],
  telemetry: ['store', 'jobs', 'wire', 'domain'],
  evaluation: ['workers', 'summarize', 'providers', 'store', 'jobs', 'compaction', 'wire', 'domain'],
  // `summarize` for the structural summarizer of `/v1/responses/compact`.
  // Runs in browsers (rule `page-transport`).
  chat: ['api'],
  api: ['store', 'jobs', 'summarize', 'telemetry', 'compaction', 'wire', 'domain'],
  host: ['api', 'workers', 'store', 'jobs', 'summarize', 'providers', 'telemetry', 'wire', 'domain'],
  cli: ['api', 'host', 'evaluation', 'store', 'jobs', 'providers', 'telemetry', 'compaction', 'wire', 'domain'],
  // The modules that the package exports.
  index: ['host', 'store', 'providers', 'workers', 'telemetry', 'jobs', 'domain'],
  'ai-sdk': ['providers', 'domain'],
  mcp: ['providers', 'domain'],
  compact: ['evaluation', 'compaction', 'wire', 'domain'],
  testing: ['api', 'host', 'store', 'workers', 'jobs', 'wire', 'domain'],
};

/** npm packages that only the listed rooms may import, so that the other rooms do not depend on them. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['jobs/bullmq'],
  ioredis: ['store', 'jobs/bullmq', 'host/local-redis'],
  msgpackr: ['store/embedded'],
  'wasmoon-lua5.1': ['store/embedded'],
  openai: ['providers'],
  '@anthropic-ai': ['providers'],
  '@ai-sdk': ['providers/ai-sdk', 'providers/tools'],
  '@modelcontextprotocol': ['providers/tools', 'cli/mcp'],
  'prom-client': ['telemetry'],
  pino: ['telemetry'],
  '@opentelemetry/api': ['telemetry'],
  'js-tiktoken': ['wire/tokens'],
  testcontainers: ['host/local-redis'],
  commander: ['cli'],
  hono: ['api/http'],
  '@hono/node-server': ['api/http'],
  'zod-openapi': ['api/http'],
  '@bull-board': ['api/http'],
};

/** The module of error codes, which every room may import. */
const shared = '^src/domain/errors\\.ts$';

/**
 * Checks whether a module belongs to a room. A module outside of all rooms is an error, because no import rule would
 * apply.
 */
export function isInARoom(source: string): boolean {
  return Object.keys(rooms).some((room) => new RegExp(roomPath(room)).test(source));
}

export function roomPath(room: string): string {
  return `^src/${room}(/|\\.ts$)`;
}

function packagePath(name: string): string {
  return `(^|node_modules/)${name}(/|$)`;
}

function directionRules(): IForbiddenRuleType[] {
  return Object.entries(rooms).map(([room, allowed]) => ({
    name: `${room}-direction`,
    comment: `${room} may import ${allowed.length === 0 ? 'no other room' : allowed.join(', ')}`,
    severity: 'error',
    from: { path: roomPath(room) },
    to: { path: '^src/', pathNot: [shared, ...[room, ...allowed].map(roomPath)] },
  }));
}

function ownerRules(): IForbiddenRuleType[] {
  return Object.entries(owners).map(([name, allowed]) => ({
    name: `${name}-owner`,
    comment: `only ${allowed.join(', ')} may import ${name}`,
    severity: 'error',
    from: { path: '^src/', pathNot: allowed.map(roomPath) },
    to: { path: packagePath(name) },
  }));
}

/** Modules of src whose code the inspector may contain: the request layer of the client over HTTP, and its errors. */
const SHARED_WITH_PAGE =
  '^src/(?:api/(?:retries|http-client/(?:event-frames|problem-error|transport))|domain/errors)\\.ts$';

/** Rooms that receive an opened store, and import no code of it. */
const TYPES_ONLY = ['workers', 'telemetry', 'evaluation'].map(roomPath);

export const rules: readonly IForbiddenRuleType[] = [
  ...directionRules(),
  ...ownerRules(),
  {
    name: 'pure',
    comment: 'domain and compaction import no built-in and no package but zod',
    severity: 'error',
    from: { path: ['domain', 'compaction'].map(roomPath) },
    to: { pathNot: ['^src/', packagePath('zod')] },
  },
  {
    name: 'optional-packages',
    comment: 'only turnfold/ai-sdk imports the model whose packages are optional',
    severity: 'error',
    from: { path: '^src/', pathNot: [roomPath('ai-sdk'), '^src/providers/ai-sdk/'] },
    to: { path: '^src/providers/ai-sdk/' },
  },
  {
    name: 'queue-behind-ports',
    comment: 'workers, providers and metrics know no BullMQ',
    severity: 'error',
    from: { path: '^src/', pathNot: ['jobs/bullmq', 'api', 'host', 'cli'].map(roomPath) },
    to: { path: roomPath('jobs/bullmq') },
  },
  {
    name: 'queue-connections',
    comment: 'the queue uses connections to Redis, and no script of the store',
    severity: 'error',
    from: { path: roomPath('jobs') },
    to: { path: roomPath('store'), pathNot: roomPath('store/redis') },
  },
  {
    name: 'types-of-store',
    comment: 'workers, telemetry and evaluation use types of the store only, so they call it through their ports',
    severity: 'error',
    from: { path: TYPES_ONLY },
    to: { path: roomPath('store'), dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'redis-behind-store',
    comment: 'workers, telemetry and evaluation know no Redis, neither by type nor by code',
    severity: 'error',
    from: { path: TYPES_ONLY },
    to: { path: ['store/redis', 'store/embedded'].map(roomPath) },
  },
  {
    name: 'src-alone',
    comment: 'src imports nothing of the project outside src',
    severity: 'error',
    from: { path: '^src/' },
    to: { dependencyTypes: ['local'], pathNot: '^src/' },
  },
  {
    name: 'no-cycles',
    comment: 'no module imports itself through others, types included',
    severity: 'error',
    from: { path: '^src/' },
    to: { circular: true },
  },
  {
    name: 'resolvable',
    comment: 'an import must resolve to a file',
    severity: 'error',
    from: { path: '^src/' },
    to: { couldNotResolve: true },
  },
  {
    name: 'page-transport',
    comment: 'the transport of chat pages contains no code of src but the reader of event frames',
    severity: 'error',
    from: { path: roomPath('chat') },
    to: { path: '^src/', pathNot: [roomPath('chat'), '^src/api/http-client/event-frames\\.ts$'] },
  },
  {
    name: 'inspector-types',
    comment: 'the page contains no code of src but the request layer of the client over HTTP',
    severity: 'error',
    from: { path: '^inspector/' },
    to: { path: '^src/', pathNot: SHARED_WITH_PAGE, dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'inspector-direction',
    comment: 'the inspector imports types of api/contract and domain, and the request layer',
    severity: 'error',
    from: { path: '^inspector/' },
    to: { path: '^src/', pathNot: [SHARED_WITH_PAGE, '^src/(api/contract|domain)/'] },
  },
  {
    name: 'inspector-packages',
    comment: 'the page contains no packages but preact and @preact/signals, and of zod only types',
    severity: 'error',
    from: { path: '^inspector/' },
    to: { pathNot: ['^src/', '^inspector/', ...['preact', '@preact/signals', 'zod'].map(packagePath)] },
  },
  {
    name: 'inspector-cycles',
    comment: 'no module of the inspector imports itself through others, except by a panel that is loaded later',
    severity: 'error',
    from: { path: '^inspector/' },
    to: { circular: true, viaOnly: { dependencyTypesNot: ['dynamic-import'] } },
  },
];
