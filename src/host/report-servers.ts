import type { EventListener } from '../domain/events.ts';
import type { ConnectedStore } from '../store/connect-store.ts';

/** Fraction of `maxmemory` above which a starting worker warns, because Redis may be full within hours. */
const NEARLY_FULL = 0.8;

/** Warns once, when a worker starts, about a Redis that is nearly full or that writes no append-only file. */
export async function reportServers(
  { readMemory, isAppendOnly }: Pick<ConnectedStore, 'readMemory' | 'isAppendOnly'>,
  onEvent: EventListener,
): Promise<void> {
  const [use, isDurable] = await Promise.all([readMemory(), isAppendOnly()]);
  if (use !== undefined && use.usedBytes >= NEARLY_FULL * use.limitBytes)
    onEvent({ type: 'redis_nearly_full', ...use });
  if (isDurable === false) onEvent({ type: 'redis_not_persistent' });
}
