import type { IForbiddenRuleType } from 'dependency-cruiser';

/**
 * The rooms of src/, and which rooms each may import. A room is a folder of src/ or a single file (`config` is
 * src/config.ts). The import rules below are derived from this table.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  jobs: ['domain'],
  wire: ['domain'],
  histories: ['domain'],
  tokens: ['domain'],
  redis: ['domain'],
  'embedded-redis': [],
  workers: ['jobs', 'wire', 'tokens', 'domain'],
  store: ['redis', 'embedded-redis', 'jobs', 'wire', 'tokens', 'domain'],
  queue: ['redis', 'jobs', 'wire', 'tokens', 'domain'],
  models: ['jobs', 'wire', 'tokens', 'domain'],
  toolsets: ['domain'],
  webhooks: ['domain'],
  telemetry: ['jobs', 'wire', 'tokens', 'domain'],
  health: ['redis', 'store', 'queue', 'models', 'telemetry', 'config', 'jobs', 'wire', 'tokens', 'domain'],
  evaluation: ['workers', 'models', 'jobs', 'wire', 'tokens', 'domain'],
  // `redis` for the options of an address, and for recognizing errors that a client must not retry.
  // The module of `turnfold/compact`. A test checks which packages it loads.
  compact: ['evaluation', 'histories', 'workers', 'wire', 'domain'],
  client: ['histories', 'store', 'queue', 'redis', 'telemetry', 'jobs', 'tokens', 'domain'],
  inbox: ['client', 'jobs', 'domain'],
  reports: ['domain'],
  config: ['redis', 'domain', 'jobs', 'tokens'],
  'local-redis': ['embedded-redis', 'redis', 'domain'],
  runtime: [
    'inbox',
    'workers',
    'store',
    'queue',
    'redis',
    'models',
    'telemetry',
    'webhooks',
    'health',
    'config',
    'jobs',
    'wire',
    'tokens',
    'domain',
  ],
  index: ['runtime', 'redis', 'models', 'workers', 'telemetry', 'config', 'jobs', 'domain'],
  // The modules of `turnfold/ai-sdk` and `turnfold/mcp`, whose packages are optional.
  'ai-sdk': ['models', 'toolsets', 'domain'],
  mcp: ['toolsets', 'domain'],
  testing: ['client', 'runtime', 'store', 'embedded-redis', 'workers', 'jobs', 'tokens', 'domain'],
  // `wire` for contexts in the formats of providers, `models` for the structural summarizer.
  http: ['client', 'histories', 'runtime', 'models', 'config', 'jobs', 'wire', 'tokens', 'domain'],
  // Runs without Redis and Node: a test checks which modules it loads.
  'http-client': ['client', 'domain'],
  demo: ['client', 'runtime', 'models', 'local-redis', 'config', 'jobs', 'wire', 'histories', 'tokens', 'domain'],
  cli: [
    'client',
    'histories',
    'runtime',
    'evaluation',
    'reports',
    'local-redis',
    'redis',
    'config',
    'http',
    'demo',
    'telemetry',
    'health',
    'jobs',
    'wire',
    'tokens',
    'domain',
  ],
};

/** npm packages that only the listed rooms may import, so that the other rooms do not depend on them. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['queue'],
  ioredis: ['redis', 'store', 'queue', 'local-redis', 'embedded-redis'],
  msgpackr: ['embedded-redis'],
  'wasmoon-lua5.1': ['embedded-redis'],
  openai: ['models'],
  '@anthropic-ai': ['models'],
  '@ai-sdk': ['models/ai-sdk', 'toolsets'],
  '@modelcontextprotocol': ['toolsets'],
  'prom-client': ['telemetry'],
  pino: ['telemetry'],
  '@opentelemetry/api': ['telemetry'],
  'js-tiktoken': ['tokens'],
  testcontainers: ['local-redis'],
  commander: ['cli'],
  hono: ['http'],
  '@hono/node-server': ['http'],
  'zod-openapi': ['http'],
  '@bull-board': ['http'],
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

/** The only module of src whose code the inspector may contain. It has no imports. */
const SHARED_WITH_PAGE = '^src/http-client/event-frames\\.ts$';

export const rules: readonly IForbiddenRuleType[] = [
  ...directionRules(),
  ...ownerRules(),
  {
    name: 'domain-pure',
    comment: 'domain imports no built-in and no package but zod',
    severity: 'error',
    from: { path: roomPath('domain') },
    to: { pathNot: ['^src/', packagePath('zod')] },
  },
  {
    name: 'optional-packages',
    comment: 'only turnfold/ai-sdk imports the model whose packages are optional',
    severity: 'error',
    from: { path: '^src/', pathNot: [roomPath('ai-sdk'), '^src/models/ai-sdk/'] },
    to: { path: '^src/models/ai-sdk/' },
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
    name: 'inspector-types',
    comment: 'the inspector uses types of http/answers and domain only, so that no server code is in the page',
    severity: 'error',
    from: { path: '^inspector/' },
    to: { path: '^src/', pathNot: SHARED_WITH_PAGE, dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'inspector-direction',
    comment: 'the inspector imports no room but http/answers and domain',
    severity: 'error',
    from: { path: '^inspector/' },
    to: { path: '^src/', pathNot: [SHARED_WITH_PAGE, '^src/(http/answers|domain)/'] },
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
