import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { registerAgentTools } from './agent-tools.ts';
import { registerReadingTools, type ServedAgents } from './reading-tools.ts';
import { registerTasks } from './turn-tasks.ts';

const INSTRUCTIONS = `turnfold keeps conversations of agents and compacts their contexts. The log of a conversation has
every message. A version of its context decides what the model reads: messages are live, summarized, masked, clipped or
archived. Four tools show why an agent forgot something. \`search_log\` finds the words, and says what became of each
message and which version did it. \`versions\` lists the compactions. \`report\` with \`find\` shows what a version kept
and lost. \`show_version\` shows the messages that the model read. For turns that failed or hang, begin with
\`list_failed_turns\`, \`list_waiting_turns\` and \`show_turn\`.`;

export interface McpOptions extends ServedAgents {
  readonly programVersion: string;
}

/** A server for one connection or request. The state is in turnfold, so each may have its own server. */
export function createMcpServer({ programVersion, ...served }: McpOptions): McpServer {
  const server = new McpServer({ name: 'turnfold', version: programVersion }, { instructions: INSTRUCTIONS });
  registerReadingTools(server, served);
  if (served.agents.length > 0) {
    registerAgentTools(server, served);
    registerTasks(server, served);
  }
  return server;
}

/** Serves one client over standard input and output. */
export function serveMcpStdio(options: McpOptions): { close(): Promise<void> } {
  return serveStdio(() => createMcpServer(options));
}

/** Path of the HTTP server. Some clients send to the root. */
const PATHS = new Set(['/mcp', '/']);

/**
 * Answers MCP requests of this machine over HTTP, without sessions. Pages of other origins are refused, because any page
 * in a browser of this machine could send requests.
 */
export function createMcpApp(options: McpOptions): Pick<ReturnType<typeof createMcpHandler>, 'fetch' | 'close'> {
  const handler = createMcpHandler(() => createMcpServer(options));
  let isClosed = false;
  return {
    fetch: async (request) => {
      const refused =
        hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
        originValidationResponse(request, localhostAllowedOrigins());
      if (refused !== undefined) return refused;
      if (!PATHS.has(new URL(request.url).pathname)) return new Response('MCP is at /mcp\n', { status: 404 });
      if (isClosed) return new Response('the server is stopping\n', { status: 503, headers: { 'retry-after': '1' } });
      return await handler.fetch(request);
    },
    close: async () => {
      isClosed = true;
      await handler.close();
    },
  };
}
