import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { Config, ProviderSettings } from '../../config.ts';
import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import { isAtLeast } from '../../redis/server-checks.ts';

/** What can be said of this machine without a Redis. */
export async function examineMachine(config: Config, providers: ProviderSettings): Promise<Finding[]> {
  return [examineNode(process.version.slice(1)), await examinePort(config.metrics), examineKeys(providers)];
}

/** @param version as `24.1.0` */
export function examineNode(version: string): Finding {
  const least = readLeastNode();
  return isAtLeast(version, least)
    ? findOk('node', version)
    : findWrong('node', `${version}; turnfold needs ${least}`, `Install Node.js ${least} or later.`);
}

function readLeastNode(): string {
  const manifest = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { engines } = JSON.parse(manifest) as { readonly engines: { readonly node: string } };
  return engines.node.replace(/^>=/, '');
}

async function examinePort({ host, port }: Config['metrics']): Promise<Finding> {
  const name = 'metrics port';
  if (port === 0) return findOk(name, 'any free one');
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    server.close();
    return findOk(name, `${host}:${port} is free`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const isServed = code === 'EADDRINUSE' && (await isWorkerAt(host, port));
    if (isServed) return findOk(name, `${host}:${port} is held by a worker that is alive`);
    return findWarning(
      name,
      `${host}:${port} cannot be bound (${code}): a worker could not start here`,
      'Free it, or set TURNFOLD_METRICS_PORT or TURNFOLD_METRICS_HOST.',
    );
  }
}

async function isWorkerAt(host: string, port: number): Promise<boolean> {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  try {
    const signal = AbortSignal.timeout(1_000);
    const answer = await fetch(`http://${reachable}:${port}/health`, { signal });
    return ((await answer.json()) as { readonly status?: unknown }).status === 'ok';
  } catch {
    return false;
  }
}

/** Whether one is needed, the agents alone know. */
function examineKeys(providers: ProviderSettings): Finding {
  const told = Object.values(providers).map(
    ({ keyVariable, apiKey }) => `${keyVariable} ${apiKey === undefined ? 'is not set' : 'is set'}`,
  );
  return findOk('provider keys', told.join(', '));
}
