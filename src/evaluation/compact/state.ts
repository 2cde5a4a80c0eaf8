import { createHash } from 'node:crypto';
import { z } from 'zod';
import { boundedList, boundedRecord, MAX_GROWN_ENTRIES } from '../../domain/bounded-schemas.ts';
import type { Message, Weight } from '../../domain/message.ts';
import { summarySchema, versionSchema } from '../../domain/version.ts';
import type { ContextRecord } from '../evaluated-conversation.ts';

const countSchema = z.number().nonnegative();

/** Number of the form of states that this version of turnfold writes. */
const FORM = 1;

export const compactStateSchema = z.object({
  form: z.literal(FORM),
  messages: boundedList(z.object({ hash: z.string(), tokens: countSchema, bytes: countSchema }), MAX_GROWN_ENTRIES),
  record: z
    .object({
      version: versionSchema,
      summaries: boundedRecord(z.string(), summarySchema, MAX_GROWN_ENTRIES),
      passed: z.object({ head: countSchema, turns: countSchema }),
      backoff: z.object({
        nothingBelowTokens: countSchema,
        gainlessPasses: countSchema,
        noGainBelowTokens: countSchema,
        appendsBelowMessageTokens: countSchema.optional(),
      }),
    })
    .optional(),
});

/**
 * Sizes and summaries of a conversation, for the next call. A state is JSON and may be stored. Summaries are its only
 * texts.
 */
export interface CompactState {
  /** Number of the form in which this state is written. */
  readonly form: typeof FORM;
  /** Sizes of the messages that were counted. */
  readonly messages: readonly {
    /** Hash of the content. */
    readonly hash: string;
    /** Size in tokens. */
    readonly tokens: number;
    /** Size in UTF-8 bytes. */
    readonly bytes: number;
  }[];
  /** The compacted context. Opaque. Absent before the first compaction. */
  readonly record?: unknown;
}

export function hashMessage(message: Message): string {
  return createHash('sha256').update(JSON.stringify(message)).digest('base64url').slice(0, 22);
}

/** The part of a state that matches the given messages. */
interface KnownStart {
  readonly weights: readonly Weight[];
  readonly record?: ContextRecord;
}

/** Compares hashes. A record is used only if all messages that it stands for are the same. */
export function matchState(state: CompactState | undefined, hashes: readonly string[]): KnownStart {
  if (state === undefined) return { weights: [] };
  const differs = state.messages.findIndex(({ hash }, index) => hash !== hashes[index]);
  const weights = differs === -1 ? state.messages.slice(0, hashes.length) : state.messages.slice(0, differs);
  const record = state.record as ContextRecord | undefined;
  return { weights, ...(record !== undefined && record.version.base <= weights.length && { record }) };
}

export function writeState(hashes: readonly string[], weights: readonly Weight[], record: ContextRecord): CompactState {
  const messages = weights.map(({ tokens, bytes }, index) => ({ hash: hashes[index] ?? '', tokens, bytes }));
  return { form: FORM, messages, record };
}
