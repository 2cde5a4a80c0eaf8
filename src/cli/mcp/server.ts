import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
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
  registerQuestion(server);
  if (served.agents.length > 0) {
    registerAgentTools(server, served);
    registerTasks(server, served);
  }
  return server;
}

/** A question that coding agents show to people as a command. */
function registerQuestion(server: McpServer): void {
  const argsSchema = z.object({
    conversation: z.string().min(1).describe('Id of the conversation.'),
    text: z.string().min(1).max(200).describe('Words of the conversation that the agent no longer knows.'),
  });
  const description = 'Find out why a conversation forgot something.';
  server.registerPrompt('why_forgotten', { description, argsSchema }, ({ conversation: id, text }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: writeQuestion(id, text) } }],
  }));
}

function writeQuestion(id: string, text: string): string {
  return `Find out why the conversation ${JSON.stringify(id)} no longer knows ${JSON.stringify(text)}.
1. Call \`search_log\` with these words. If nothing matches, the conversation never said them: say so.
2. A match that is \`live\`, or an entry of \`modelReads\`, is still in the context: the model overlooked it.
3. Otherwise \`by\` names the version that removed the message. Read its cause with \`versions\`, and its losses with \`report\` and \`find\`.
4. Read the summary that replaced the message with \`show_version\`.
5. Suggest a policy that would have kept it, and check it with \`plan\`.
Quote positions (seq) and version numbers.`;
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
