import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import type { TurnHandler } from '../domain/ports/handlers.ts';
import type { DueEntry, SweepStore } from '../domain/ports/sweep-store.ts';
import { BrokenDelivery } from './turn/broken-delivery.ts';

export interface QuarantinePorts {
  readonly sweep: Pick<SweepStore, 'quarantine'>;
  readonly onEvent: EventListener;
}

/**
 * Sets aside the entry of a conversation whose records cannot be read (I12). Otherwise every sweep would wake a worker that
 * can only fail. Whoever repairs the record puts the entry back.
 * @returns whether `error` says that a record cannot be read
 */
export async function quarantineCorrupt(
  { sweep, onEvent }: QuarantinePorts,
  entry: DueEntry,
  error: unknown,
): Promise<boolean> {
  if (!isTurnfoldError(error, 'corrupt_record')) return false;
  const setAside = await sweep.quarantine(entry, `corrupt ${describePlace(error.details)}`);
  if (setAside !== undefined) onEvent({ type: 'record_quarantined', ...setAside, conversation: entry.conversation });
  return true;
}

function describePlace({ key = '', field = '' }: Readonly<Record<string, unknown>> = {}): string {
  return `${String(key)} ${String(field)}`.trim();
}

/** A turn handler that sets a conversation aside when one of its records cannot be read. Its turn stays accepted. */
export function withQuarantine(handle: TurnHandler, ports: QuarantinePorts): TurnHandler {
  return async (conversation) => {
    try {
      await handle(conversation);
    } catch (error) {
      const cause = error instanceof BrokenDelivery ? error.cause : error;
      // If this fails the next sweep meets the conversation again.
      await quarantineCorrupt(ports, { kind: 'turn', conversation }, cause).catch(() => false);
      throw error;
    }
  };
}
