import { once } from 'node:events';
import { createServer } from 'node:net';
import { describeRetirement, findRetirements, type NamedProfile } from '../../providers/retirements.ts';
import { isAtLeast } from '../../store/redis/server-checks.ts';
import type { Config, ProviderSettings } from '../config.ts';
import { readPackageFacts } from '../package-facts.ts';
import { type Finding, findOk, findWarning, findWrong } from './finding.ts';

export async function examineMachine(config: Config, providers: ProviderSettings): Promise<Finding[]> {
  return [examineNode(process.version.slice(1)), await examinePort(config.metrics), examineKeys(providers)];
}

export function examineModels(models: readonly NamedProfile[], now = Date.now()): Finding[] {
  if (models.length === 0) return [];
  const name = 'models';
  const retiring = findRetirements(models, now);
  if (retiring.length === 0) return [findOk(name, 'none is retired within 60 days')];
  return retiring.map((retirement) => {
    const report = retirement.daysLeft < 0 ? findWrong : findWarning;
    return report(name, describeRetirement(retirement), 'docs/reference/models.md lists the models and their dates.');
  });
}

export function examineNode(version: string): Finding {
  const least = readPackageFacts().engines.node.replace('>=', '');
  return isAtLeast(version, least)
    ? findOk('node', version)
    : findWrong('node', `${version}, but turnfold needs ${least}`, `Install Node.js ${least} or later.`);
}

async function examinePort({ host, port }: Config['metrics']): Promise<Finding> {
  const name = 'metrics port';
  if (port === 0) return findOk(name, 'any free port');
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    server.close();
    return findOk(name, `${host}:${port} is free`);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const isServed = code === 'EADDRINUSE' && (await isWorkerAt(host, port));
    if (isServed) return findOk(name, `${host}:${port} is in use by a live worker`);
    return findWarning(
      name,
      `${host}:${port} cannot be bound (${code}), so a worker could not start on this machine`,
      'Free this port, or set TURNFOLD_METRICS_PORT or TURNFOLD_METRICS_HOST.',
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

/** A missing key counts as ok, because only the agents decide which keys are needed. */
function examineKeys(providers: ProviderSettings): Finding {
  const keys = Object.values(providers).map(
    ({ keyVariable, apiKey }) => `${keyVariable} ${apiKey === undefined ? 'is not set' : 'is set'}`,
  );
  return findOk('provider keys', keys.join(', '));
}

const ANSWER_MS = 10_000;

type Maker = 'anthropic' | 'openai';

/** Lists the models of each provider, which needs the key and costs no tokens. Never quotes the provider. */
export async function examineProviders(providers: ProviderSettings): Promise<Finding[]> {
  const findings = await Promise.all(
    (['anthropic', 'openai'] as const).map(async (maker) => {
      const { apiKey, baseUrl, keyVariable } = providers[maker];
      if (apiKey === undefined) return [];
      try {
        await listModels(maker, { apiKey, baseUrl });
        return [findOk(maker, 'it accepts the key')];
      } catch (error) {
        const status = error instanceof Error && 'status' in error ? error.status : undefined;
        return [explainRefusal(maker, keyVariable, status)];
      }
    }),
  );
  return findings.flat();
}

async function listModels(
  maker: Maker,
  connection: { readonly apiKey: string; readonly baseUrl: string | undefined },
): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_MS);
  if (maker === 'anthropic') {
    const { openAnthropic } = await import('../../providers/anthropic/client.ts');
    const { client, dispatcher } = openAnthropic(connection);
    await using _ = { [Symbol.asyncDispose]: () => dispatcher.destroy() };
    await client.models.list({ limit: 1 }, { signal });
  } else {
    const { openOpenAi } = await import('../../providers/openai/client.ts');
    const { client, dispatcher } = openOpenAi(connection);
    await using _ = { [Symbol.asyncDispose]: () => dispatcher.destroy() };
    await client.models.list({ signal });
  }
}

/** @param status HTTP status of the answer, if there was an answer */
function explainRefusal(maker: Maker, keyVariable: string, status: unknown): Finding {
  const address = keyVariable.replace('API_KEY', 'BASE_URL');
  if (typeof status !== 'number') {
    return findWrong(maker, 'the provider does not answer', `Check the network, a proxy, and ${address}.`);
  }
  if (status === 401 || status === 403) {
    return findWrong(
      maker,
      `the provider refuses the key (HTTP status ${status})`,
      `Correct ${keyVariable}, or the file with the key.`,
    );
  }
  if (status === 404) {
    const remedy = `Correct ${address}, unless it names a compatible server that lists no models.`;
    return findWarning(maker, 'the address does not list models (HTTP status 404)', remedy);
  }
  return findWarning(
    maker,
    `the provider answers with HTTP status ${status}`,
    'Try again later, or read the provider’s status page.',
  );
}
