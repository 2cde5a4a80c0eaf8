import type { Breach, RuleContext } from './rule.ts';
import type { BodyView } from './view.ts';

/** X9: the request fits the window in tokens and the provider's cap in bytes. Asked where the context says them. */
export function* fits({ json }: Pick<BodyView, 'json'>, context: RuleContext): Generator<Breach> {
  const { tokens, usableTokens, maxBytes } = context;
  if (tokens !== undefined && usableTokens !== undefined && tokens > usableTokens) {
    yield { path: '', message: `${tokens} tokens of ${usableTokens} usable` };
  }
  if (maxBytes === undefined) return;
  const bytes = json === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(json);
  if (bytes > maxBytes) yield { path: '', message: `${bytes} bytes of at most ${maxBytes}` };
}
