import { type Context, Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { fieldError, isTurnfoldError } from '../../domain/errors.ts';
import { type AnswerError, LIMIT_DEFAULTS, type ServerFacts } from '../app-options.ts';
import { trustEveryone } from '../caller.ts';
import { answerFrames, refuseHead } from '../event-stream.ts';
import { answerProblem, HttpProblem } from '../problem.ts';
import { Readers } from '../readers.ts';
import { readJsonBody } from '../request-body.ts';

const { maxReaders, maxBodyBytes: maxBytes, maxDepth, bodyTimeoutMs: timeoutMs, maxWaitMs } = LIMIT_DEFAULTS;

/** For a protocol in a server of another kind, whose own guards come before the protocol. */
const ALONE: Omit<ServerFacts, 'caller'> = {
  cut: undefined,
  basePath: '',
  readers: new Readers(maxReaders),
  streams: LIMIT_DEFAULTS,
  body: { maxBytes, maxDepth, timeoutMs },
  maxWaitMs,
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

/** Why a stream ends before its turn. */
export interface StreamFailure {
  readonly code: string;
  readonly message: string;
}

export interface FrameOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Writes the last frame of a stream that failed, or whose server stops. Absent: the connection is cut, which the
   * clients of the protocol answer by connecting again.
   */
  readonly writeFailure?: (failure: StreamFailure) => string;
}

/** Answers with Server-Sent Events, as one of the readers of the server. */
export async function streamFrames(
  context: Context,
  frames: (left: AbortSignal) => AsyncIterable<string>,
  { headers = {}, writeFailure }: FrameOptions = {},
): Promise<Response> {
  const { readers, streams: limits, cut, onError } = await readServerFacts(context);
  const request = context.req.raw;
  refuseHead(request);
  async function* endWithFailure(left: AbortSignal): AsyncGenerator<string> {
    try {
      yield* frames(left);
    } catch (error) {
      if (writeFailure === undefined) throw error;
      yield writeFailure(explainFailure(error, onError));
    }
  }
  return answerFrames({ request, cut, readers, limits, frames: endWithFailure, headers, cutsAtFailure: true });
}

function explainFailure(error: unknown, onError: ServerFacts['onError']): StreamFailure {
  if (isTurnfoldError(error) || error instanceof HttpProblem) return error;
  onError(error);
  return { code: 'defect', message: 'the server failed. Its log has the details' };
}

/** Opens the app of a protocol. Its routes are below the path of the server that mounts it. */
export function openApp(answerError: AnswerError = answerProblem): Hono {
  const app = new Hono({
    getPath: (request, { env } = {}) => getPath(request).slice((env as Partial<ServerFacts>)?.basePath?.length),
  });
  app.onError(async (error, context) => answerError(error, (await readServerFacts(context)).onError));
  return app;
}

/** Writes a frame without an event name. */
export function writeData(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
