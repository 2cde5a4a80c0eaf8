import { type Context, Hono } from 'hono';
import { getPath } from 'hono/utils/url';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
import { type AccessOptions, type Admission, admit, checkSource, openAccess } from '../access.ts';
import { type AnswerError, LIMIT_DEFAULTS, type ProtocolRoute, type ServerFacts } from '../app-options.ts';
import { allowOrigins } from '../cors.ts';
import { answerFrames, refuseHead } from '../event-stream.ts';
import { answerProblem, HttpProblem } from '../problem.ts';
import { ServerReaders } from '../readers.ts';
import { readJsonBody } from '../request-body.ts';
import { routerPath } from '../route.ts';

const { maxBodyBytes: maxBytes, maxDepth, maxValues, bodyTimeoutMs: timeoutMs, maxWaitMs } = LIMIT_DEFAULTS;
const ignoreError = (): void => undefined;
const FACTS = 'turnfold';

const ALONE: Omit<ServerFacts, keyof Admission> = {
  cut: undefined,
  basePath: '',
  streams: LIMIT_DEFAULTS,
  body: { maxBytes, maxDepth, maxValues, timeoutMs },
  // No protocol that is served alone reads a whole context.
  holdContext: async (_, read) => await read(),
  maxWaitMs,
  onError: ignoreError,
};

/**
 * Adds access control to an app of one protocol. `createHttpApp` does the same for the protocols that it mounts.
 * @throws invalid_config if `authenticate` is missing, or the options open a server without access control to web pages
 */
export function guardApp(
  inner: Hono,
  routes: readonly ProtocolRoute[],
  options: AccessOptions,
  answerError: AnswerError = answerProblem,
): Hono {
  const gate = { access: openAccess(options), readers: new ServerReaders({ ...LIMIT_DEFAULTS, onError: ignoreError }) };
  const app = openApp(answerError);
  for (const { method, path, scopes } of routes) {
    const at = routerPath(path);
    for (const middleware of allowOrigins(gate.access, routes)) app.use(at, middleware);
    app.on(method.toUpperCase(), at, async (context: Context, next) => {
      checkSource(context.req.raw, gate.access);
      context.set(FACTS, { ...ALONE, ...(await admit(context.req.raw, gate, scopes)) } satisfies ServerFacts);
      await next();
    });
  }
  return app.route('/', inner);
}

/** A server that mounts the protocol passes the facts as the environment of a request. */
export function serverFactsOf(context: Context): ServerFacts {
  return (context.get(FACTS) as ServerFacts | undefined) ?? (context.env as ServerFacts);
}

export async function readBody(context: Context): Promise<unknown> {
  const { body } = serverFactsOf(context);
  const read = await readJsonBody(context.req.raw, body);
  if (read === undefined) throw fieldError('invalid_input', 'body', 'expected JSON');
  return read;
}

export function leavingOf(context: Context): AbortSignal {
  return AbortSignal.any([context.req.raw.signal, serverFactsOf(context).readers.closing]);
}

interface StreamFailure {
  readonly code: string;
  readonly message: string;
}

interface FrameOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Writes the last frame of a stream that failed. Absent: the connection is cut, and clients connect again. */
  readonly writeFailure?: (failure: StreamFailure) => string;
}

export async function streamFrames(
  context: Context,
  frames: (left: AbortSignal) => AsyncIterable<string>,
  { headers = {}, writeFailure }: FrameOptions = {},
): Promise<Response> {
  const { readers, streams: limits, cut, onError } = serverFactsOf(context);
  const request = context.req.raw;
  refuseHead(request);
  async function* endWithFailure(left: AbortSignal): AsyncGenerator<string> {
    try {
      yield* frames(left);
    } catch (error) {
      if (writeFailure === undefined || request.signal.aborted) throw error;
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

/** The routes of the app are below the path of the server that mounts it. */
export function openApp(answerError: AnswerError = answerProblem): Hono {
  const app = new Hono({
    getPath: (request, { env } = {}) => getPath(request).slice((env as Partial<ServerFacts>)?.basePath?.length),
  });
  app.onError((error, context) => {
    const { onError = ignoreError } = (serverFactsOf(context) as Partial<ServerFacts> | undefined) ?? {};
    return answerError(error, onError);
  });
  return app;
}

export function writeData(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}
