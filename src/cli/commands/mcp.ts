import { once } from 'node:events';
import type { ConversationName, TurnfoldClient } from '../../api/client/index.ts';
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
  const { serveMcpStdio, createMcpApp, nameAgentTools } = await loadServer();
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

/** The package is optional, because only this command needs it. */
async function loadServer() {
  try {
    return { ...(await import('../mcp/server.ts')), ...(await import('../mcp/agent-tools.ts')) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const why = 'turnfold mcp needs this package. Run: npm install @modelcontextprotocol/server';
    throw fieldError('invalid_config', '@modelcontextprotocol/server', why, { cause: error });
  }
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
