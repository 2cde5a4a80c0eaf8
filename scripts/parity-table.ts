import { type OperationName, operations } from '../src/api/contract/client.ts';
import type { Operation } from '../src/api/contract/operation.ts';

/** How a caller does something in one of the four ways: by a name, or not, for a reason. */
export type Way = { readonly by: string } | { readonly reason: string };

export interface ParityRow {
  readonly operation: OperationName | 'plan' | 'authenticate';
  /** Method of the client over Redis. */
  readonly redis: Way;
  /** Method of the client over HTTP. */
  readonly http: Way;
  readonly route: Way;
  /** Command, without `turnfold`. */
  readonly command: Way;
}

const ONE_OF_MANY = 'a shell sends one turn per command';
const OWN_LOOP = 'for loops of your own, which are programs';
const PAGE = 'for the page of `turnfold inspect`';
const EXPORT = 'a program reads `log`';

/** Commands, and why there is none. The type lets no new operation be without an entry. */
const COMMANDS: Readonly<Record<OperationName, Way>> = {
  enqueueTurn: { by: 'enqueue' },
  enqueueTurns: { reason: ONE_OF_MANY },
  redrive: { by: 'redrive' },
  openTurns: { by: 'turns' },
  showTurn: { by: 'result' },
  steps: { reason: PAGE },
  result: { by: 'result' },
  cancel: { by: 'cancel' },
  answer: { by: 'answer' },
  waiting: { by: 'waiting' },
  failedTurns: { by: 'failed' },
  stream: { by: 'enqueue' },
  events: { by: 'events' },
  append: { reason: OWN_LOOP },
  log: { by: 'export' },
  exportConversation: { by: 'export' },
  importConversation: { by: 'import' },
  context: { by: 'show' },
  show: { by: 'show' },
  conversations: { by: 'conversations' },
  agents: { reason: '`turnfold doctor` names agents that no worker has' },
  usage: { reason: 'the metrics of workers have it' },
  describe: { by: 'describe' },
  updateConversation: { by: 'update' },
  createConversationToken: { by: 'token' },
  erase: { by: 'erase' },
  fork: { by: 'fork' },
  compact: { by: 'redrive' },
  versions: { by: 'versions' },
  diff: { by: 'diff' },
  restore: { by: 'restore' },
  rollBackTurn: { by: 'rollback' },
  proposal: { by: 'proposal' },
  approve: { by: 'approve' },
  reject: { by: 'reject' },
  outline: { reason: PAGE },
  breakdown: { reason: PAGE },
  report: { reason: PAGE },
  showAccess: { reason: 'a shell reaches Redis, with every right' },
  showFleet: { by: 'doctor' },
  createAccessKey: { by: 'keys create' },
  listAccessKeys: { by: 'keys list' },
  rotateAccessKey: { by: 'keys rotate' },
  revokeAccessKey: { by: 'keys revoke' },
  rotateTokenSecret: { by: 'rotate-token-secret' },
  addWebhook: { by: 'webhooks add' },
  listWebhooks: { by: 'webhooks list' },
  removeWebhook: { by: 'webhooks remove' },
  retryWebhook: { by: 'webhooks retry' },
};

/** Operations that a client has under another name, or not. */
const METHODS: Partial<Record<OperationName, Way>> = {
  showTurn: { by: 'result' },
  exportConversation: { reason: EXPORT },
  importConversation: { reason: 'a program calls `append`, or `turnfold import`' },
  showAccess: { reason: 'a program has its own key' },
  showFleet: { reason: 'for the page of `turnfold inspect`' },
  createAccessKey: { by: 'keys.create' },
  listAccessKeys: { by: 'keys.list' },
  rotateAccessKey: { by: 'keys.rotate' },
  revokeAccessKey: { by: 'keys.revoke' },
  rotateTokenSecret: { by: 'keys.rotateTokenSecret' },
  addWebhook: { by: 'webhooks.add' },
  listWebhooks: { by: 'webhooks.list' },
  removeWebhook: { by: 'webhooks.remove' },
  retryWebhook: { by: 'webhooks.retry' },
};

export function listParity(): ParityRow[] {
  const rows = (Object.entries(operations) as [OperationName, Operation][]).map(([operation, { method, path }]) => {
    const way = METHODS[operation] ?? { by: operation };
    const route = { by: `${method.toUpperCase()} ${path}` };
    return { operation, redis: way, http: way, route, command: COMMANDS[operation] };
  });
  const compact = operations.compact;
  const dry = { by: `${compact.method.toUpperCase()} ${compact.path}` };
  return [
    ...rows,
    { operation: 'plan', redis: { by: 'plan' }, http: { by: 'plan' }, route: dry, command: { by: 'plan' } },
    {
      operation: 'authenticate',
      redis: { by: 'keys.authenticate' },
      http: { reason: 'only a server checks keys of others' },
      route: { reason: 'the server checks the key of each request' },
      command: { reason: 'a shell reaches Redis, with every right' },
    },
  ];
}

const HEAD = `# Parity of clients, HTTP and the command line

For engineers who choose a way to call turnfold. Each row is one operation, and a cell in italics says why that way is missing.
The client over Redis and the client over HTTP have the same methods with the same types.

| client over Redis | client over HTTP | route | command |
|---|---|---|---|
`;

export function writeParity(): string {
  const cell = (way: Way): string => ('by' in way ? `\`${way.by}\`` : `*${way.reason}*`);
  const lines = listParity().map(({ redis, http, route, command }) => {
    const shell = 'by' in command ? { by: `turnfold ${command.by}` } : command;
    return `| ${[redis, http, route, shell].map(cell).join(' | ')} |`;
  });
  return `${HEAD}${lines.join('\n')}\n\nThis page is written by \`node scripts/write-parity.ts\`.\n`;
}
