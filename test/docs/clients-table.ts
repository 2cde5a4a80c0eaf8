import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

/** One line of the table: packages of a client, and the tests that run them against a served app. */
export interface ClientRow {
  readonly client: string;
  /** Names of packages in `node_modules`. An alias stands for an older version. */
  readonly packages: readonly string[];
  /** Folder with the lock of the packages (the root). */
  readonly folder?: string;
  readonly works: string;
  readonly limits?: string;
  readonly tests: readonly string[];
}

export const CLIENTS: readonly ClientRow[] = [
  {
    client: 'AI SDK, `useChat` and `Chat`',
    packages: ['ai', 'ai6', 'ai5'],
    works: 'text, reasoning, tools, approvals, resume, stop, regenerate, history',
    limits: 'AI SDK 5 has no approvals: a page sends decisions as outputs of tools',
    tests: ['test/http/ai-sdk.test.ts', 'test/http/ai-sdk-chunks.test.ts'],
  },
  {
    client: 'AI SDK with [`turnfold/chat`](chat.md)',
    packages: ['ai', 'ai6', 'ai5'],
    works: 'the same, and cuts, reloads and second tabs at every chunk',
    tests: ['test/chat/cuts.faults.test.ts'],
  },
  {
    client: 'OpenAI SDK',
    packages: ['openai'],
    works: 'responses, conversations, chat completions, streams, tools, models',
    limits: 'no WebSocket',
    tests: [
      'test/http/openai-responses.test.ts',
      'test/http/openai-chat.test.ts',
      'test/http/openai-conversations.test.ts',
    ],
  },
  {
    client: 'OpenAI Agents SDK',
    packages: ['@openai/agents'],
    works: 'own tools, handoffs, sessions, streams, forms of answers',
    tests: ['test/http/openai-clients.test.ts'],
  },
  {
    client: "AI SDK's provider of OpenAI",
    packages: ['@ai-sdk/openai'],
    works: 'text, streams and own tools, by responses and chat',
    tests: ['test/http/openai-clients.test.ts'],
  },
  {
    client: 'LangChain',
    packages: ['@langchain/openai'],
    works: 'text, streams, own tools, forms of answers',
    tests: ['test/http/openai-clients.test.ts'],
  },
  {
    client: 'requests of Open Responses',
    packages: [],
    works: 'all requests over HTTP, on an agent without tools',
    limits: 'no WebSocket',
    tests: ['test/http/open-responses.test.ts'],
  },
  {
    client: 'AG-UI client',
    packages: ['@ag-ui/client', '@ag-ui/client59'],
    works: 'tools of pages, context, state, images, approvals, stop, connect after a reload',
    tests: ['test/http/ag-ui.test.ts', 'test/http/ag-ui-older.test.ts', 'test/http/ag-ui-connect.test.ts'],
  },
  {
    client: 'CopilotKit in Chromium',
    packages: ['@copilotkit/react-core', '@copilotkit/runtime'],
    folder: 'examples/copilotkit',
    works: 'tools of pages, context, state, approvals, stop, connect after a reload',
    tests: ['test/examples/copilotkit.faults.test.ts'],
  },
  {
    client: 'MCP client',
    packages: ['@modelcontextprotocol/client'],
    works: 'tools, questions for approvals, progress, tasks',
    tests: ['test/cli/mcp.test.ts'],
  },
  {
    client: '`openapi-typescript` and `openapi-fetch`',
    packages: ['openapi-typescript', 'openapi-fetch'],
    works: 'typed requests, answers, errors and events of streams',
    tests: ['test/http-client/openapi-client.test.ts'],
  },
  {
    client: 'Next.js, Express and Fastify as servers',
    packages: ['next', 'express', 'fastify'],
    folder: 'examples/pages',
    works: '[turns, streams and approvals](../how-to/mount-in-your-server.md)',
    tests: ['test/examples/pages.faults.test.ts'],
  },
];

interface Lock {
  readonly packages: Readonly<Record<string, { readonly name?: string; readonly version?: string }>>;
}

/** Reads the versions that `npm ci` installs. */
function nameVersions({ packages, folder = '.' }: ClientRow): string {
  const { packages: locked } = JSON.parse(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')) as Lock;
  const names = packages.map((name) => {
    const found = locked[`node_modules/${name}`] ?? locked[`test/node_modules/${name}`];
    if (found?.version === undefined) throw new Error(`${folder}/package-lock.json has no ${name}`);
    return `\`${found.name ?? name}\` ${found.version}`;
  });
  return names.join(', ');
}

export function tabulateClients(): string {
  const rows = CLIENTS.map((row) => {
    const { client, works, limits = '–', tests } = row;
    const files = tests.map((test) => `\`${test}\``).join(', ');
    return `| ${client} | ${nameVersions(row) || '–'} | ${works} | ${limits} | ${files} |`;
  });
  return ['| client | packages | works | does not | shown by |', '|---|---|---|---|---|', ...rows].join('\n');
}
