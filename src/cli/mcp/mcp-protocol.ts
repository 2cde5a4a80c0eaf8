import { createMcpHandler } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { TurnfoldClient } from '../../api/client/index.ts';
import type { MountedProtocol, ProtocolRoute, ServerFacts } from '../../api/http/app-options.ts';
import { readJsonBody } from '../../api/http/request-body.ts';
import { includesScope, type Scope } from '../../domain/access-key.ts';
import { fieldError } from '../../domain/errors.ts';
import { createMcpServer, type McpOptions } from './server.ts';

const messageSchema = z
  .looseObject({ jsonrpc: z.literal('2.0') })
  .meta({ id: 'McpMessage', description: 'A message of the Model Context Protocol.' });

const mcpRoutes: readonly ProtocolRoute[] = [
  {
    operation: 'mcp',
    method: 'post',
    path: '/mcp',
    scopes: ['read'],
    summary: 'Answer a request of the Model Context Protocol, without sessions. Tools that write need further scopes.',
    body: messageSchema,
    status: 202,
    results: { 'application/json': messageSchema, 'text/event-stream': messageSchema },
  },
];

type ProtocolOptions = Pick<McpOptions, 'client' | 'agents' | 'programVersion'>;

/**
 * Creates the route `/mcp` of `turnfold serve`, with its keys, scopes and limits. A request has a server of its own,
 * which reaches only what its caller reaches.
 */
export function createMcpProtocol({ client, agents, programVersion }: ProtocolOptions): MountedProtocol {
  const handler = createMcpHandler(({ authInfo }) => {
    const passed = authInfo?.extra as { readonly facts: ServerFacts } | undefined;
    if (passed === undefined) throw new Error('the request was passed on without its caller');
    const { caller, guard, holdContext, readers, maxWaitMs } = passed.facts;
    const { tenant, scopes } = caller;
    const reached = limitToScopes(guard(client), scopes);
    return createMcpServer({
      client: reached,
      holdContext: async ({ signal: left, ...held }, read) => {
        const signal = AbortSignal.any([left, readers.closing]);
        return await holdContext({ ...held, client: reached, signal }, read);
      },
      nameOf: (conversation) => ({ tenant, conversation }),
      tenant,
      agents: includesScope(scopes, 'enqueue') ? agents : [],
      programVersion,
      maxWaitMs,
    });
  });
  return {
    routes: mcpRoutes,
    fetch: async (request, facts) => {
      const parsedBody = await readJsonBody(request, facts.body);
      if (parsedBody === undefined) throw fieldError('invalid_input', 'body', 'expected JSON');
      if (Array.isArray(parsedBody)) return refuseBatch();
      const { method, headers, url } = request;
      const { closing } = facts.readers;
      const leave = facts.readers.enter();
      const authInfo = { token: '', clientId: '', scopes: [...facts.caller.scopes], extra: { facts } };
      const work = new AbortController();
      const end = (): void => work.abort(closing.reason);
      closing.addEventListener('abort', end, { once: true });
      try {
        const signal = AbortSignal.any([request.signal, work.signal]);
        const answered = await handler.fetch(new Request(url, { method, headers, signal }), { authInfo, parsedBody });
        closing.throwIfAborted();
        closing.removeEventListener('abort', end);
        const { id } = messageSchema.parse(parsedBody);
        const leaveAndEnd = (): void => {
          leave();
          end();
        };
        return watchEnd(answered, { closing, refusal: refusalOf(id), leave: leaveAndEnd });
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}

/** The protocol has no batches. All calls of a batch would run at once, and count as one reader. */
function refuseBatch(): Response {
  const message = 'the body is a batch, which this protocol does not have. Send each message in a request of its own';
  return Response.json({ jsonrpc: '2.0', error: { code: INVALID_REQUEST, message }, id: null }, { status: 400 });
}

/** Code of JSON-RPC 2.0. */
const INVALID_REQUEST = -32_600;

/** Code of an error that an MCP server defines itself. */
const SERVER_ERROR = -32_000;

/** Without an answer to its request, a client of the older protocol waits until its own limit. */
function refusalOf(id: unknown): Uint8Array {
  const message = 'the key of this request ended, or the server stops. A turn that has begun goes on';
  const refused = JSON.stringify({ jsonrpc: '2.0', error: { code: SERVER_ERROR, message }, id });
  return new TextEncoder().encode(`event: message\ndata: ${refused}\n\n`);
}

interface StreamEnd {
  /** Ends the stream with `refusal` when it is aborted. */
  readonly closing: AbortSignal;
  readonly refusal: Uint8Array;
  /** Called when the body ends, or its reader leaves. */
  readonly leave: () => void;
}

function watchEnd(response: Response, { closing, refusal, leave }: StreamEnd): Response {
  const { body, status, headers } = response;
  if (body === null) {
    leave();
    return new Response(null, { status, headers });
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  const closed = new Promise<'closed'>((resolve) => {
    if (isStream) closing.addEventListener('abort', () => resolve('closed'), { once: true });
  });
  const watched = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const read = await Promise.race([reader.read(), closed]);
        if (read === 'closed') controller.enqueue(refusal);
        else if (read.value !== undefined) controller.enqueue(read.value);
        if (read !== 'closed' && !read.done) return;
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      leave();
    },
    cancel: async (reason) => {
      leave();
      await reader.cancel(reason).catch(() => undefined);
    },
  });
  return new Response(watched, { status, headers });
}

/** The route needs the scope `read`. The methods of tools that write need the scopes of their own routes. */
function limitToScopes(client: TurnfoldClient, scopes: readonly Scope[]): TurnfoldClient {
  const check = (needed: Scope): void => {
    if (includesScope(scopes, needed)) return;
    throw fieldError('access_denied', 'authorization', `this tool needs a key with the scope ${needed}`);
  };
  return {
    ...client,
    enqueueTurn: async (...input) => {
      check('enqueue');
      return await client.enqueueTurn(...input);
    },
    cancel: async (...input) => {
      check('enqueue');
      return await client.cancel(...input);
    },
    answer: async (...input) => {
      check('answer');
      return await client.answer(...input);
    },
  };
}
