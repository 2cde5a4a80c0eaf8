import type { Limits } from '../../domain/limits.ts';
import type { SizeLimit } from '../reports/size-plot.ts';

/** Returns the horizontal lines of a size plot: one line for each limit that the policy sets. */
export function listLimits({ usable, hardTokens, ratioTokens, tokenThreshold, maxTokens }: Limits): SizeLimit[] {
  const limit = (name: string, tokens: number | undefined, kind: SizeLimit['kind']): SizeLimit[] =>
    tokens === undefined ? [] : [{ name, tokens, kind }];
  return [
    ...limit('usable', usable, 'limit'),
    ...limit('hard limit', hardTokens, 'limit'),
    ...limit('ratio', ratioTokens, 'threshold'),
    ...limit('token threshold', tokenThreshold, 'threshold'),
    ...limit('maxTokens', maxTokens, 'goal'),
  ];
}
