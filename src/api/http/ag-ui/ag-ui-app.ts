import type { Context, Hono } from 'hono';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { AccessOptions } from '../access.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import { type BackendOptions, openBackend } from '../front-end/backend.ts';
import { guardApp, leavingOf, openApp, readBody, serverFactsOf, streamFrames } from '../front-end/server-facts.ts';
import { connectThreadRoute, readConnecting, ThreadStream } from './connect-thread.ts';
import { agUiEventSchema } from './events.ts';
import { type OnAbort, OpenRuns } from './open-runs.ts';
import { readRunRequest, runInputSchema } from './run-input.ts';
import { RunStream } from './run-stream.ts';
import { takeRun } from './run-turns.ts';
import { stopRun, stopRunRoute } from './stop-run.ts';

const runRoute = {
  method: 'post',
  scopes: ['read', 'enqueue', 'answer'],
  body: runInputSchema,
  results: { [EVENT_STREAM]: agUiEventSchema },
} as const;

export const agUiRoutes: readonly ProtocolRoute[] = [
  {
    ...runRoute,
    operation: 'runAgent',
    path: '/v1/ag-ui',
    summary: 'Run the agent on a thread by AG-UI, or resume an interrupted run, and stream its events.',
  },
  connectThreadRoute,
  stopRunRoute,
  {
    ...runRoute,
    operation: 'runNamedAgent',
    path: '/v1/ag-ui/{agent}',
    summary: 'Run an agent by its name on a thread by AG-UI, and stream its events.',
  },
];

export interface AgUiOptions extends BackendOptions {
  /** Treatment of a run whose client aborts its request (`cancel`). */
  readonly onAbort?: OnAbort | undefined;
}

/** Routes of AG-UI, to be mounted in a server. @throws invalid_config without `authenticate` */
export function agUiApp(options: AgUiOptions & AccessOptions): Hono {
  return guardApp(openAgUi(options), agUiRoutes, options);
}

export function openAgUi({ onAbort = 'cancel', ...options }: AgUiOptions): Hono {
  const app = openApp();
  const runs = new OpenRuns();
  const answer = async (context: Context, backend: BackendOptions): Promise<Response> => {
    const opened = await openBackend(backend, context);
    const request = readRunRequest(await readBody(context));
    const { threadId, runId } = request;
    const { readers, onError } = serverFactsOf(context);
    readers.checkPlace();
    const taking = takeRun(opened, request);
    const run = new RunStream(opened, request, taking);
    const opening = {
      name: [opened.tenant, threadId, runId],
      aborted: context.req.raw.signal,
      isOver: () => run.isDone || readers.closing.aborted,
      stop: async () => await stopRun(opened, { threadId, runId }, readers.closing),
      onError,
    };
    const leave = onAbort === 'cancel' ? runs.enter(opening) : () => undefined;
    const write = async function* writeRun(left: AbortSignal): AsyncGenerator<string> {
      try {
        yield* run.write(left);
      } finally {
        leave();
      }
    };
    // The status tells that the run was taken. A refusal is an event of the stream, as AG-UI demands.
    await Promise.allSettled([taking]);
    try {
      return await streamFrames(context, write, { writeFailure: ({ code, message }) => run.fail(code, message) });
    } catch (error) {
      leave();
      throw error;
    }
  };
  app.post('/v1/ag-ui', async (context) => await answer(context, options));
  app.post('/v1/ag-ui/connect', async (context) => {
    const backend = await openBackend(options, context);
    const thread = new ThreadStream(backend, readConnecting(await readBody(context)));
    return await streamFrames(context, (left) => thread.write(left), {
      writeFailure: ({ code, message }) => thread.fail(code, message),
    });
  });
  app.post('/v1/ag-ui/stop', async (context) => {
    const backend = await openBackend(options, context);
    return context.json(await stopRun(backend, await readBody(context), leavingOf(context)));
  });
  app.post('/v1/ag-ui/:agent', async (context) => {
    const agent = parseInput(idSchema, context.req.param('agent'), 'agent');
    return await answer(context, { ...options, agent });
  });
  return app;
}
