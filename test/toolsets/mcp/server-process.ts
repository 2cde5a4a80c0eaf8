// An MCP server in a process of its own: over standard input and output, or over HTTP with or without sessions. It
// appends each call to a file. Arguments: kind, file of the calls, port (0 for any).
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer, type ServerContext } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { PIXEL } from '../../fakes/contents.ts';

const [kind = '', callsFile = '', port = '0'] = process.argv.slice(2);

function record(tool: string, { mcpReq }: ServerContext): void {
  const key = mcpReq['_meta']?.['turnfold/idempotencyKey'];
  appendFileSync(callsFile, `${JSON.stringify({ tool, key, pid: process.pid })}\n`);
}

/** Never answers. Ends when the client cancels the call. */
async function hang(tool: string, { mcpReq }: ServerContext): Promise<never> {
  mcpReq.signal.addEventListener('abort', () => appendFileSync(callsFile, `${JSON.stringify({ tool: 'canceled' })}\n`));
  return await new Promise<never>(() => {});
}

const text = (given: string) => ({ content: [{ type: 'text' as const, text: given }] });
const path = z.object({ path: z.string() });
const empty = z.object({});

function openServer(): McpServer {
  const server = new McpServer({ name: 'files', version: '1.0.0' });
  const readOnly = { readOnlyHint: true };
  server.registerTool(
    'files.read',
    { description: 'Reads a file.', inputSchema: path, annotations: readOnly },
    ({ path: given }, context) => {
      record('files.read', context);
      return text(`contents of ${given}`);
    },
  );
  server.registerTool('write', { description: 'Writes a file.', inputSchema: path }, ({ path: given }, context) => {
    record('write', context);
    return text(`wrote ${given}`);
  });
  server.registerTool(
    'check',
    { inputSchema: empty, outputSchema: z.object({ isGood: z.boolean() }), annotations: { idempotentHint: true } },
    () => ({
      content: [],
      structuredContent: { isGood: true },
    }),
  );
  server.registerTool('picture', { inputSchema: empty }, async (_input, { mcpReq }) => {
    const progressToken = mcpReq['_meta']?.progressToken;
    const params = { progress: 1, total: 2, message: 'drawing' };
    if (progressToken !== undefined) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...params } });
    }
    return {
      content: [
        { type: 'text', text: 'A picture:' },
        { type: 'image', data: PIXEL, mimeType: 'image/png' },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'resource', resource: { uri: 'file:///a/b.png', blob: PIXEL, mimeType: 'image/png' } },
        { type: 'resource', resource: { uri: 'file:///a/c.bin', blob: 'AAAA', mimeType: 'application/zip' } },
      ],
    };
  });
  server.registerTool('refuse', { inputSchema: empty }, () => ({ ...text('no such file'), isError: true }));
  server.registerTool('hang', { inputSchema: empty }, (_input, context) => {
    record('hang', context);
    return hang('hang', context);
  });
  // Hangs until the file exists, so that a test can end this process in the middle of a call.
  server.registerTool('hang_once', { inputSchema: path, annotations: readOnly }, ({ path: gate }, context) => {
    record('hang_once', context);
    return existsSync(gate) ? text('answered') : hang('hang_once', context);
  });
  return server;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

function listen(handle: Handler): void {
  const server = createServer((request, response) => void handle(request, response));
  server.listen(Number(port), '127.0.0.1', () => {
    process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
  });
}

/** Servers of the older protocol versions keep a session for each client. */
async function openSessions(): Promise<(request: IncomingMessage, response: ServerResponse) => Promise<void>> {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  return async (request, response) => {
    const known = request.headers['mcp-session-id'];
    let transport = sessions.get(String(known));
    if (known !== undefined && transport === undefined) return void response.writeHead(404).end();
    if (transport === undefined) {
      const opened = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void sessions.set(id, opened),
      });
      await openServer().connect(opened);
      transport = opened;
    }
    await transport.handleRequest(request, response);
  };
}

if (kind === 'stdio') serveStdio(openServer);
else if (kind === 'http') listen(toNodeHandler(createMcpHandler(openServer)) as unknown as Handler);
else listen(await openSessions());
