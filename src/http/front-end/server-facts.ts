import type { Context, Hono } from 'hono';
import { fieldError } from '../../domain/errors.ts';
import { LIMIT_DEFAULTS, type ServerFacts } from '../app-options.ts';
import { trustEveryone } from '../caller.ts';
import { answerFrames } from '../event-stream.ts';
import { answerProblem } from '../problem.ts';
import { Readers } from '../readers.ts';
import { readJsonBody } from '../request-body.ts';

const { maxReaders, maxBodyBytes: maxBytes, maxDepth, bodyTimeoutMs: timeoutMs } = LIMIT_DEFAULTS;

/** For a protocol in a server of another kind, whose own guards come before the protocol. */
const ALONE: Omit<ServerFacts, 'caller'> = {
  readers: new Readers(maxReaders),
  streams: LIMIT_DEFAULTS,
  body: { maxBytes, maxDepth, timeoutMs },
  onError: () => undefined,
};

/** The facts of the server that mounted the protocol, which come as the environment of a request. */
export async function readServerFacts({ env, req }: Context): Promise<ServerFacts> {
  const { caller } = (env ?? {}) as Partial<ServerFacts>;
  return caller === undefined ? { ...ALONE, caller: await trustEveryone(req.raw) } : (env as ServerFacts);
}

/** @throws invalid_input, unsupported_media_type, body_too_large, request_timeout */
export async function readBody(context: Context): Promise<unknown> {
  const { body } = await readServerFacts(context);
  const read = await readJsonBody(context.req.raw, body);
  if (read === undefined) throw fieldError('invalid_input', 'body', 'expected JSON');
  return read;
}

/** Answers with Server-Sent Events, as one of the readers of the server. */
export async function streamFrames(
  context: Context,
  frames: (left: AbortSignal) => AsyncIterable<string>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { readers, streams: limits } = await readServerFacts(context);
  return answerFrames({ request: context.req.raw, readers, limits, frames, headers, cutsAtFailure: true });
}

/** Answers errors of a protocol as problem+json, like those of the routes. */
export function answerProblems(app: Hono): void {
  app.onError(async (error, context) => answerProblem(error, (await readServerFacts(context)).onError));
}

/** Writes a frame without an event name. */
export function writeData(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
