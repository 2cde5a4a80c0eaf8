import type { ProviderSettings } from '../../config.ts';
import { type Finding, findOk, findWarning, findWrong } from '../../health/finding.ts';
import { type ProbeOutcome, probeProvider } from '../../models/probe-provider.ts';

/** Asks every provider that has a key. */
export async function examineProviders(providers: ProviderSettings): Promise<Finding[]> {
  const findings = await Promise.all(
    (['anthropic', 'openai'] as const).map(async (maker) => {
      const { apiKey, baseUrl, keyVariable } = providers[maker];
      if (apiKey === undefined) return [];
      return [judge(maker, keyVariable, await probeProvider({ maker, apiKey, baseUrl }))];
    }),
  );
  return findings.flat();
}

function judge(maker: string, keyVariable: string, outcome: ProbeOutcome): Finding {
  if (outcome.kind === 'answered') return findOk(maker, 'it answers, and takes the key');
  const address = keyVariable.replace('API_KEY', 'BASE_URL');
  if (outcome.kind === 'unreachable') {
    return findWrong(maker, 'it does not answer', `Look at the network, a proxy, and ${address}.`);
  }
  const { status } = outcome;
  if (status === 401 || status === 403) {
    return findWrong(maker, `it refuses the key (${status})`, `Correct ${keyVariable}, or its file.`);
  }
  if (status === 404) {
    const remedy = `Nothing where ${address} is a compatible server that lists no models; else correct it.`;
    return findWarning(maker, 'it answers, and lists no models (404)', remedy);
  }
  return findWarning(maker, `it answers with ${status}`, 'Try again later; its status page may know more.');
}
