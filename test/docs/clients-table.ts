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
  /** Each thing that works, with words from the title of the test that shows it. */
  readonly works: Readonly<Record<string, string>>;
  /** Things that do not work, or that no test runs. */
  readonly limits?: string;
  readonly tests: readonly string[];
}

export const CLIENTS: readonly ClientRow[] = [
  {
    client: 'AI SDK, `useChat` and `Chat`',
    packages: ['ai', 'ai6', 'ai5'],
    works: {
      text: 'the answer that a chat shows is the text of the log',
      reasoning: 'if a second model answers, a chat shows its text',
      tools: 'a chat answers a tool call in the page',
      approvals: 'a chat asks for approval of a call',
      resume: 'a chat that is reloaded resumes an answer',
      stop: 'a stopped answer keeps its text in the page',
      regenerate: 'regenerating an answer in a chat',
      history: 'the history of a chat shows messages',
    },
    limits: 'AI SDK 5 has no approvals: a page sends decisions as outputs of tools',
    tests: ['test/http/ai-sdk.test.ts', 'test/http/ai-sdk-chunks.test.ts'],
  },
  {
    client: 'AI SDK with [`turnfold/chat`](chat.md)',
    packages: ['ai', 'ai6', 'ai5'],
    works: {
      'the same, and cuts, reloads and second tabs at every chunk': 'cuts, reloads and second tabs at any point',
    },
    tests: ['test/chat/cuts.faults.test.ts'],
  },
  {
    client: 'OpenAI SDK',
    packages: ['openai'],
    works: {
      responses: 'a response under /openai/v1 is created, retrieved, streamed and continued',
      conversations: 'a conversation is created with items',
      'chat completions': 'a chat that a client sends whole goes on in one conversation',
      streams: 'a chat streams its text, its reasoning and its usage',
      tools: 'a function that a request brings is called',
      models: 'an unknown model is refused as `model_not_found`, and the known ones are listed',
      'forms of answers': 'parses the form of a response and of a chat',
      'runners of tools': 'runs its own tools in a chat',
      'repeated requests': 'a request that the SDK of OpenAI repeats',
      'random requests': 'a random request of the SDK of OpenAI',
    },
    limits: 'no WebSocket',
    tests: [
      'test/http/openai-packages.test.ts',
      'test/http/left-requests.test.ts',
      'test/http/openai-random.test.ts',
      'test/http/openai-responses.test.ts',
      'test/http/openai-chat.test.ts',
      'test/http/openai-conversations.test.ts',
    ],
  },
  {
    client: 'OpenAI Agents SDK',
    packages: ['@openai/agents'],
    works: {
      'own tools': 'an agent runs its own tools',
      handoffs: 'an agent hands over to another one',
      'sessions, streams, forms of answers': 'an agent streams, keeps a session, and has a form of its answer',
      'parallel tools with a conversation, a response or a session': 'runs two tools at once, with %s',
      'the program of [the page](../how-to/use-openai-clients.md)': 'the program with the Agents SDK runs its own tool',
    },
    tests: ['test/http/openai-clients.test.ts', 'test/http/openai-packages.test.ts', 'test/http/openai-page.test.ts'],
  },
  {
    client: "AI SDK's provider of OpenAI",
    packages: ['@ai-sdk/openai', '@ai-sdk/openai3'],
    works: {
      'text, streams and own tools, by responses and chat': 'generates, streams and runs its own tools',
      'forms of answers': 'runs two tools at once, and writes a form',
      'errors of turns': 'shows the error of a stream whose turn failed',
    },
    tests: ['test/http/openai-clients.test.ts', 'test/http/openai-packages.test.ts'],
  },
  {
    client: 'LangChain',
    packages: ['@langchain/openai'],
    works: {
      'text, streams, own tools': 'invokes, streams and runs its own tools',
      'forms of answers': 'writes an answer in a form',
      'streamed calls': 'streams two calls, and goes on from their results',
      'tokens of streams': 'counts the tokens of a stream',
    },
    tests: ['test/http/openai-clients.test.ts', 'test/http/openai-packages.test.ts'],
  },
  {
    client: 'Open WebUI and other programs that speak Chat Completions',
    packages: [],
    works: {
      'the requests of Open WebUI': 'Open WebUI finds the agents and has one conversation for each of its chats',
    },
    limits: 'no test runs the programs themselves',
    tests: ['test/http/openai-page.test.ts'],
  },
  {
    client: 'requests of Open Responses',
    packages: [],
    works: { 'all requests over HTTP, on an agent without tools': 'the requests of Open Responses on an agent' },
    limits: 'no WebSocket',
    tests: ['test/http/open-responses.test.ts'],
  },
  {
    client: 'AG-UI client',
    packages: ['@ag-ui/client', '@ag-ui/client59'],
    works: {
      'tools of pages': 'a tool that a page brings in an AG-UI run is answered by the page',
      context: 'the model reads the context and the system messages of an AG-UI run',
      state: 'a tool changes the state that a page shares with it',
      images: 'an image and a document of an AG-UI message reach the model',
      approvals: 'an AG-UI run is interrupted for an approval, and resumed',
      stop: 'a client that aborts an AG-UI run stops its turn',
      'connect after a reload': 'a second client that connects to an AG-UI thread gets all messages',
      errors: 'gets the code and the sentence of a turn that fails',
    },
    tests: [
      'test/http/ag-ui.test.ts',
      'test/http/ag-ui-older.test.ts',
      'test/http/ag-ui-connect.test.ts',
      'test/http/ag-ui-failures.test.ts',
    ],
  },
  {
    client: 'CopilotKit in Chromium',
    packages: ['@copilotkit/react-core', '@copilotkit/runtime'],
    folder: 'examples/copilotkit',
    works: {
      'tools of pages': 'CopilotKit runs a tool of the page',
      context: 'the model reads the context of a CopilotKit page',
      state: 'a CopilotKit page and a tool of the agent share their state',
      approvals: 'a person decides on a call in a CopilotKit page',
      stop: 'the stop button of CopilotKit stops the turn',
      'connect after a reload': 'a CopilotKit page that is loaded again shows the conversation',
    },
    tests: ['test/examples/copilotkit.faults.test.ts'],
  },
  {
    client: 'runtime of assistant-ui for AG-UI',
    packages: ['@assistant-ui/react', '@assistant-ui/react-ag-ui'],
    folder: 'examples/pages',
    works: {
      'text, calls': 'a page of assistant-ui shows the text and the calls of an agent',
      'tools and instructions of pages': 'assistant-ui runs a tool of its page, and the model reads the instructions',
      approvals: 'a person decides on a call in a page of assistant-ui',
      stop: 'the stop of assistant-ui stops the turn',
      regenerate: 'a regenerated answer of assistant-ui replaces the old answer',
      edit: 'an edited message of assistant-ui that names the old message replaces it',
      'two tabs': 'a second page of assistant-ui gets the turns that it lacks',
      'history after a reload': 'a page of assistant-ui that is loaded again shows its conversation',
    },
    limits: 'a reload stops the turn that runs. Version 0.0.58 was not run: it names a package that no registry has',
    tests: ['test/examples/assistant-ui.faults.test.ts'],
  },
  {
    client: 'MCP client',
    packages: ['@modelcontextprotocol/client'],
    works: {
      tools: 'a coding agent finds when a conversation lost a word',
      'questions for approvals': 'whose question for an approval reaches the person at the client',
      progress: 'a client that asks for progress hears of calls',
      tasks: 'a client that takes tasks gets the turn as a task',
      'over HTTP with keys': 'a key reads and writes only in its tenant',
    },
    tests: ['test/cli/mcp.test.ts', 'test/cli/mcp-protocol.test.ts'],
  },
  {
    client: '`openapi-typescript` and `openapi-fetch`',
    packages: ['openapi-typescript', 'openapi-fetch'],
    works: {
      'typed requests, answers, errors and events of streams':
        'a client that openapi-typescript generates from the OpenAPI document compiles, and drives a turn',
    },
    tests: ['test/http-client/openapi-client.test.ts'],
  },
  {
    client: 'Next.js, Express and Fastify as servers',
    packages: ['next', 'express', 'fastify'],
    folder: 'examples/pages',
    works: {
      '[turns, streams and approvals](../how-to/mount-in-your-server.md)':
        'a turn, its stream and an approval work through %s',
    },
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
    const { client, limits = '–', tests } = row;
    const works = Object.keys(row.works).join(', ');
    const files = tests.map((test) => `\`${test}\``).join(', ');
    return `| ${client} | ${nameVersions(row) || '–'} | ${works} | ${limits} | ${files} |`;
  });
  return ['| client | packages | works | does not, or was not run | shown by |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}
