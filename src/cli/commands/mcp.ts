import { once } from 'node:events';
import type { ConversationName, TurnfoldClient } from '../../api/client/index.ts';
import type { MountedProtocol } from '../../api/http/app-options.ts';
import { serveHttp } from '../../api/http/serve-http.ts';
import { openHttpClient } from '../../api/http-client/index.ts';
import { splitList } from '../../domain/allowed-hosts.ts';
import { fieldError } from '../../domain/errors.ts';
import { readServer } from '../../host/config.ts';
import { readPackageFacts } from '../../host/package-facts.ts';
import { openCommandClient } from '../command-client.ts';
import { listenForSignals } from '../interruption.ts';
import type { CommandContext } from '../run-command.ts';

interface McpCommandOptions {
  readonly agents?: string;
  readonly tenant?: string;
  readonly url?: string;
  readonly port?: number;
}

/** Serves MCP until the client closes standard input, or until a signal. */
export async function runMcp({ output }: CommandContext, options: McpCommandOptions): Promise<number> {
  const { serveMcpStdio, createMcpApp, nameAgentTools } = await loadMcp();
  const { interruption, stopListening } = listenForSignals();
  await using stack = new AsyncDisposableStack();
  const { client, tenant } = await openReach(output, options);
  stack.defer(async () => void (await client.close()));
  const nameOf = (conversation: string): ConversationName =>
    tenant === undefined ? conversation : { tenant, conversation };
  const agents = splitList(options.agents ?? '');
  nameAgentTools(agents);
  const served = { client, nameOf, tenant, agents, programVersion: readPackageFacts().version };
  if (options.port === undefined) {
    const server = serveMcpStdio(served);
    stack.defer(async () => await server.close());
    if (process.stdin.isTTY) output.note('MCP on standard input and output, for a coding agent. Ctrl-D ends it');
    await Promise.race([once(process.stdin, 'close'), once(process.stdin, 'end'), interruption]);
  } else {
    const app = createMcpApp(served);
    const server = await serveHttp({
      app: { fetch: async (request) => await app.fetch(request), close: () => void app.close() },
      host: '127.0.0.1',
      port: options.port,
    });
    stack.defer(async () => void (await server.close(1_000)));
    output.note(`MCP on ${server.url}/mcp, for programs of this machine`);
    await interruption;
  }
  stopListening();
  return 0;
}

/** The package is optional, because only MCP needs it. @throws invalid_config without the package */
async function loadMcp() {
  try {
    const [{ serveMcpStdio, createMcpApp }, { nameAgentTools }, { createMcpProtocol }] = await Promise.all([
      import('../mcp/server.ts'),
      import('../mcp/agent-tools.ts'),
      import('../mcp/mcp-protocol.ts'),
    ]);
    return { serveMcpStdio, createMcpApp, nameAgentTools, createMcpProtocol };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const why = 'MCP needs this package. Run: npm install @modelcontextprotocol/server';
    throw fieldError('invalid_config', '@modelcontextprotocol/server', why, { cause: error });
  }
}

/** @param mcp true: tools that read. A text: agents that clients may also send messages to */
export async function openMcpProtocols(
  client: TurnfoldClient,
  mcp: true | string | undefined,
): Promise<MountedProtocol[]> {
  if (mcp === undefined) return [];
  const { createMcpProtocol, nameAgentTools } = await loadMcp();
  const agents = mcp === true ? [] : splitList(mcp);
  nameAgentTools(agents);
  return [createMcpProtocol({ client, agents, programVersion: readPackageFacts().version })];
}

interface OpenReach {
  readonly client: TurnfoldClient & { close(): Promise<unknown> };
  /** Undefined over HTTP, where the key decides. */
  readonly tenant: string | undefined;
}

async function openReach(output: CommandContext['output'], options: McpCommandOptions): Promise<OpenReach> {
  const server = readServer();
  const url = options.url ?? server.url;
  if (url === undefined) return { client: await openCommandClient(output), tenant: options.tenant ?? '_' };
  if (options.tenant !== undefined) {
    throw fieldError('invalid_input', '--tenant', 'over HTTP the key decides which tenant is served. Remove --tenant');
  }
  return { client: openHttpClient({ url, ...(server.key !== undefined && { key: server.key }) }), tenant: undefined };
}
