import type { PassPlan } from '../../domain/compaction/plan.ts';
import type { SettledContext } from '../../domain/compaction/settle.ts';
import type { PassFallback } from '../../domain/pass-events.ts';

/** Where a version does less well than its pass had planned; nothing where it does not. */
export function findFallbacks(
  { kind }: Pick<PassPlan, 'kind'>,
  { strategy, explained, isFloorRelaxed }: Pick<SettledContext, 'strategy' | 'explained' | 'isFloorRelaxed'>,
): { readonly fallbacks?: readonly PassFallback[] } {
  const isEvicted = kind === 'summarize' && strategy === 'evict';
  const fallbacks: PassFallback[] = [
    ...(isEvicted ? ['evicted' as const] : []),
    ...(!isEvicted && explained.includes('summaries_missing') ? ['summaries_missing' as const] : []),
    ...(isFloorRelaxed ? ['floor_relaxed' as const] : []),
  ];
  return fallbacks.length === 0 ? {} : { fallbacks };
}
