import type { IdSource } from '../domain/clock.ts';
import { isTurnfoldError } from '../domain/errors.ts';
import type { EventListener } from '../domain/events.ts';
import { type ConversationRef, nameConversation } from '../domain/ids.ts';
import type { QuarantineEntry } from '../domain/quarantine.ts';
import type { WakeQueue } from '../jobs/ports.ts';
import type { DueEntry } from '../store/due-work.ts';
import type { SummaryStore } from '../store/summaries.ts';
import type { SweepStore } from '../store/sweep.ts';
import { BrokenDelivery } from './turn/turn-delivery.ts';

export interface QuarantinePorts {
  readonly sweep: Pick<SweepStore, 'quarantine' | 'quarantineRecord'>;
  readonly wakes: Pick<WakeQueue, 'wake'>;
  readonly ids: IdSource;
  readonly onEvent: EventListener;
}

/**
 * Sets an unreadable record aside (I12). If workers cannot create the record again, the sweeper's entry of the
 * conversation goes, too. Otherwise every sweep would wake a worker that can only fail. The operator who repairs the
 * record puts the entry back.
 * @returns true if `error` reports an unreadable record
 */
export async function quarantineCorrupt(ports: QuarantinePorts, entry: DueEntry, error: unknown): Promise<boolean> {
  if (!isTurnfoldError(error, 'corrupt_record')) return false;
  const { conversation } = entry;
  if (await quarantineRecord(ports, conversation, error)) return true;
  report(ports, conversation, await ports.sweep.quarantine(entry, describePlace(error.details)));
  return true;
}

/**
 * Sets aside the record of a pass or summary, which workers can create again. Leaves other records.
 * @returns true if the record no longer blocks its conversation
 */
async function quarantineRecord(
  ports: QuarantinePorts,
  conversation: ConversationRef,
  error: unknown,
): Promise<boolean> {
  if (!isTurnfoldError(error, 'corrupt_record')) return false;
  const { key } = error.details ?? {};
  const wakeTurn = ports.ids.next();
  const request = { key: String(key), why: describePlace(error.details), wakeTurn };
  const result = await ports.sweep.quarantineRecord(conversation, request);
  if (result === undefined) return false;
  if (result.needsWake) await ports.wakes.wake('turn', conversation, wakeTurn);
  report(ports, conversation, result.setAside);
  return true;
}

function report(
  { onEvent }: QuarantinePorts,
  conversation: ConversationRef,
  setAside: QuarantineEntry | undefined,
): void {
  if (setAside !== undefined) onEvent({ type: 'record_quarantined', ...setAside, ...nameConversation(conversation) });
}

function describePlace({ key = '', field = '' }: Readonly<Record<string, unknown>> = {}): string {
  return `corrupt ${`${String(key)} ${String(field)}`.trim()}`;
}

/**
 * Adds the quarantine to a delivery handler.
 * @param entryOf the entry of due work by which the sweeper adds the job again
 */
export function withQuarantine<Delivery, Result>(
  ports: QuarantinePorts,
  entryOf: (delivery: Delivery) => DueEntry,
  handle: (delivery: Delivery) => Promise<Result>,
): (delivery: Delivery) => Promise<Result> {
  return async (delivery) => {
    try {
      return await handle(delivery);
    } catch (error) {
      const cause = error instanceof BrokenDelivery ? error.cause : error;
      // If setting the record aside fails, the next sweep finds the record again.
      await quarantineCorrupt(ports, entryOf(delivery), cause).catch(() => false);
      throw error;
    }
  };
}

/** Reports unreadable summaries as missing, so that workers write them again. */
export function withReadableSummaries(summaries: SummaryStore, ports: QuarantinePorts): SummaryStore {
  const read = async <T>(conversation: ConversationRef, call: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!(await quarantineRecord(ports, conversation, error))) throw error;
      }
    }
  };
  return {
    ...summaries,
    readSummaries: (conversation, hashes) => read(conversation, () => summaries.readSummaries(conversation, hashes)),
    claimSummary: (conversation, hash, owner) =>
      read(conversation, () => summaries.claimSummary(conversation, hash, owner)),
    readPart: (conversation, key) => read(conversation, () => summaries.readPart(conversation, key)),
  };
}
