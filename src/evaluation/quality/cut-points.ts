import type { Message } from '../../domain/message.ts';

/** Shares of a recording's tokens that stand before its cuts. */
const SHARES = [0.5, 0.75];
/** Minimum messages on each side of a cut. System messages do not count. */
const MIN_BEFORE = 8;
const MIN_AFTER = 5;

/**
 * Finds the indexes of the first messages after each cut. A cut never separates a call from its result. A cut with too
 * few messages on one side is left out.
 * @param sizes tokens or characters by index, 0 for system messages
 * @param shares shares of the sizes that stand before the cuts
 */
export function findCuts(
  messages: readonly Message[],
  sizes: readonly number[],
  shares: readonly number[] = SHARES,
): number[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const cuts = shares.map((share) => {
    let cut = first;
    for (let before = 0; cut < messages.length && before + (sizes[cut] ?? 0) <= share * total; cut += 1) {
      before += sizes[cut] ?? 0;
    }
    while (messages[cut]?.role === 'tool') cut += 1;
    return cut;
  });
  return [...new Set(cuts)].filter((cut) => cut - first >= MIN_BEFORE && messages.length - cut >= MIN_AFTER);
}
