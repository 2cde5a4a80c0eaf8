import type { EventListener } from '../../domain/events.ts';
import { type ConversationRef, nameConversation } from '../../domain/ids.ts';
import type { PackStore } from '../../store/pack-store.ts';
import type { Shutdown } from '../shutdown.ts';

interface PackerPorts {
  readonly packs: PackStore;
  readonly shutdown: Pick<Shutdown, 'begun'>;
  readonly onEvent: EventListener;
}

/** Packs old log entries to save memory, in the process that sweeps. Never throws. */
export async function packDueLogs({ packs, shutdown, onEvent }: PackerPorts): Promise<void> {
  const report = (error: unknown, conversation?: ConversationRef): void => {
    const scope = conversation && nameConversation(conversation);
    // If the worker stops meanwhile, the failure comes from its closed connection and is not reported.
    if (!shutdown.begun.aborted) onEvent({ type: 'worker_failed', where: 'packing', ...scope, error });
  };
  const due = await packs.takeUnpacked().catch((error: unknown) => {
    report(error);
    return [];
  });
  for (const conversation of due) {
    if (shutdown.begun.aborted) return;
    try {
      const packed = await packs.packLog(conversation);
      if (packed.entries > 0) onEvent({ type: 'log_packed', ...nameConversation(conversation), ...packed });
    } catch (error) {
      report(error, conversation);
    }
  }
}
