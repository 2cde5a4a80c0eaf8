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

/** Operations that a client has under another name, or not. */
const METHODS: Partial<Record<OperationName, Way>> = {
  showTurn: { by: 'result' },
  exportConversation: { reason: 'a program reads `log`' },
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
  testWebhook: { by: 'webhooks.test' },
};

export function listParity(): ParityRow[] {
  const rows = (Object.entries(operations) as [OperationName, Operation][]).map(([operation, row]) => {
    const way = METHODS[operation] ?? { by: operation };
    const route = { by: `${row.method.toUpperCase()} ${row.path}` };
    const command = typeof row.command === 'string' ? { by: row.command } : { reason: row.command.none };
    return { operation, redis: way, http: way, route, command };
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
