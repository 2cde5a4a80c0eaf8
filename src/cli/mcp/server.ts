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
message. \`versions\` lists the compactions. \`report\` with \`find\` shows what a version kept and lost.
\`show_version\` shows the messages that the model read.`;

interface McpOptions extends ServedAgents {
  readonly programVersion: string;
}

/** A server for one connection or request. The state is in turnfold, so each may have its own server. */
function createServer({ programVersion, ...served }: McpOptions): McpServer {
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
  return serveStdio(() => createServer(options));
}

/**
 * Answers MCP requests of this machine over HTTP, without sessions. Pages of other origins are refused, because any page
 * in a browser of this machine could send requests.
 */
export function createMcpApp(options: McpOptions): Pick<ReturnType<typeof createMcpHandler>, 'fetch' | 'close'> {
  const handler = createMcpHandler(() => createServer(options));
  return {
    fetch: async (request) =>
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      (await handler.fetch(request)),
    close: async () => await handler.close(),
  };
}
