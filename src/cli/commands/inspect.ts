import { readConfig } from '../../host/config.ts';
import { openConfiguredFleet } from '../configured-fleet.ts';
import { serveInspector } from '../inspector-server.ts';
import { listenForSignals } from '../interruption.ts';
import { reportError } from '../output.ts';
import type { AccessContext } from '../run-command.ts';
import type { ServedHostOptions } from '../served-host.ts';

export interface InspectOptions extends Omit<ServedHostOptions, 'cors'> {
  readonly port: number;
  /** True if the page may change conversations. */
  readonly allowChanges?: true;
}

/** Time in ms that requests in flight have to end. */
const GRACE_MS = 1_000;

/** Serves the inspector until SIGTERM or SIGINT. */
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
