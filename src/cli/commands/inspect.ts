import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OpenClient } from '../../api/client/index.ts';
import { createHttpApp } from '../../api/http/app.ts';
import { withQueueBoard } from '../../api/http/queue-board.ts';
import { type HttpServer, serveHttp } from '../../api/http/serve-http.ts';
import { withPage } from '../../api/http/static-page.ts';
import { fieldError } from '../../domain/errors.ts';
import { type Config, DEFAULT_REDIS_URL, readConfig } from '../../host/config.ts';
import { type Fleet, openFleet } from '../../host/health/fleet.ts';
import { listenForSignals } from '../interruption.ts';
import { type Output, reportError } from '../output.ts';
import type { AccessContext } from '../run-command.ts';
import { checkServedHost, limitCallers, type ServedHostOptions } from '../served-host.ts';

interface InspectorOptions extends Omit<ServedHostOptions, 'cors'> {
  readonly client: OpenClient;
  readonly fleet: Pick<Fleet, 'read' | 'queues'>;
  readonly output: Output;
  readonly port: number;
  /** If false, only the routes with the scope `read` answer. */
  readonly allowsChanges: boolean;
}

/** Folder of the page, in a checkout and in an installed package. */
const PAGE = fileURLToPath(new URL('../../../dist/inspector', import.meta.url));

export function findInspectorPage(): string {
  if (existsSync(join(PAGE, 'index.html'))) return PAGE;
  throw fieldError(
    'invalid_config',
    'inspector',
    `the page is not built: ${PAGE} has no index.html. In a checkout, run: npm run prepare`,
  );
}

/** @throws invalid_config if other machines could reach the server without keys, or the address cannot be bound */
export async function serveInspector(options: InspectorOptions): Promise<HttpServer> {
  const { client, fleet, output, host, port, allowsChanges } = options;
  checkServedHost(options);
  const callers = limitCallers(client, options);
  const onError = (error: unknown): void => void reportError(output, error);
  const app = createHttpApp({
    client,
    fleet: () => fleet.read(),
    ...callers,
    isReadOnly: !allowsChanges,
    onError,
  });
  const fetch = withQueueBoard(withPage(findInspectorPage(), app.fetch), {
    queues: fleet.queues,
    allowsChanges,
    onError,
    ...callers,
  });
  return await serveHttp({ app: { fetch, close: () => app.close() }, host, port, allowedHosts: callers.allowedHosts });
}

export async function openConfiguredFleet(config: Config, onError: (error: unknown) => void): Promise<Fleet> {
  const { redisUrl: url = DEFAULT_REDIS_URL, redisTls: tls, prefix, shards, queueShards } = config;
  const { inbox, stuckMs, grafanaUrl } = config;
  return await openFleet({ url, tls, prefix, shards, queueShards, inbox, stuckMs, grafanaUrl, onError });
}

interface InspectOptions extends Omit<ServedHostOptions, 'cors'> {
  readonly port: number;
  readonly allowChanges?: true;
}

const GRACE_MS = 1_000;

export async function runInspect({ client, output }: AccessContext, options: InspectOptions): Promise<number> {
  const { allowChanges, ...place } = options;
  const { interruption } = listenForSignals();
  await using stack = new AsyncDisposableStack();
  const onError = (error: unknown): void => void reportError(output, error);
  const fleet = stack.adopt(await openConfiguredFleet(readConfig(), onError), (opened) => opened.close());
  const allowsChanges = allowChanges === true;
  const server = await serveInspector({ client, fleet, output, allowsChanges, ...place });
  output.line(`inspector at ${server.url}/`);
  output.note(
    allowsChanges
      ? 'The page can change conversations. Ctrl-C ends the server.'
      : 'The page only reads. To allow changes, add --allow-changes. Ctrl-C ends the server.',
  );
  await interruption;
  await server.close(GRACE_MS);
  return 0;
}
