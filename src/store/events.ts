import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { ConversationEvent, EventBody } from '../domain/conversation-event.ts';
import type { PassOutcome } from '../domain/pass.ts';
import type { EventPage, EventQuery, EventStore } from '../domain/ports/event-store.ts';
import type { ApprovalRefusal } from '../domain/proposal.ts';
import { WAIT_KINDS, waitingCallSchema } from '../domain/turn.ts';
import { versionSchema } from '../domain/version.ts';
import type { Keyspace } from './keys.ts';
import { bindScript, type ScriptDefinition } from './script.ts';

/** Durable events in Redis, for services. The script of each operation writes its events. */
export function openEventStore(redis: Redis, keyspace: Keyspace): EventStore {
  return { readEvents: bindScript(redis, readEvents(keyspace)) };
}

type Entry = readonly [id: string, fields: readonly string[]];
type Reply = readonly [start: EventPage['start'], position: string, isThere: number, ...entries: Entry[]];

function readEvents(keyspace: Keyspace): ScriptDefinition<EventQuery, EventPage> {
  return {
    file: 'read-events',
    keys: ({ conversation }) => keyspace.conversation(conversation),
    args: ({ after = '', limit }) => [after, limit],
    decode: (reply) => {
      const [start, position, isThere, ...entries] = reply as Reply;
      const events = entries.map(([id, fields]) => decodeEvent(id, toRecord(fields)));
      return { events, start, position: events.at(-1)?.id ?? position, exists: isThere === 1 };
    },
  };
}

function toRecord(flat: readonly string[]): Record<string, string> {
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : [])));
}

const list = z.string().transform((text) => (text === '' ? [] : text.split(',')));
const number = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform(Number);

const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('expected JSON');
    return z.NEVER;
  }
});

// An object, so that the compiler finds a missing outcome. A missing one would be read as unknown.
const OUTCOMES = {
  committed: 'committed',
  approved: 'approved',
  rejected: 'rejected',
  expired: 'expired',
  none: 'none',
  no_gain: 'no_gain',
  infeasible: 'infeasible',
  failed: 'failed',
  superseded: 'superseded',
} as const satisfies { readonly [Kind in Exclude<PassOutcome['kind'], 'no_reason' | 'thinking'> | 'superseded']: Kind };

const REFUSALS = {
  invalid_input: 'invalid_input',
  proposal_stale: 'proposal_stale',
  conversation_busy: 'conversation_busy',
} as const satisfies { readonly [Code in ApprovalRefusal['code']]: Code };

const toldVersion = {
  reasons: list,
  strategy: versionSchema.shape.strategy,
  archived: number,
  before: number,
  after: number,
};

type Sizes = { readonly before: number; readonly after: number };

function nameSizes<Fields extends Sizes>({ before, after, ...rest }: Fields) {
  return { ...rest, tokensBefore: before, tokensAfter: after };
}

/** Fields of events as scripts write them, by type. Unknown fields are dropped, unknown values do not match. */
const SCHEMAS = {
  turn_settled: z.object({
    type: z.literal('turn_settled'),
    turn: z.string(),
    state: z.enum(['completed', 'failed', 'canceled']),
  }),
  turn_waiting: z
    .object({
      type: z.literal('turn_waiting'),
      turn: z.string(),
      for: z.enum(WAIT_KINDS),
      until: number,
      calls: json.pipe(z.array(waitingCallSchema.omit({ until: true }).extend({ isCut: z.literal(true).optional() }))),
      deadlines: list.pipe(z.array(number)),
    })
    .transform(({ calls, deadlines, ...event }) => ({
      ...event,
      calls: calls.map(({ isCut, ...call }, at) => ({
        ...call,
        until: deadlines[at] ?? event.until,
        ...(isCut && { isCut }),
      })),
    })),
  version_committed: z
    .object({
      type: z.literal('version_committed'),
      version: number,
      cause: versionSchema.shape.cause,
      ...toldVersion,
      durationMs: number,
      model: z.string().default(''),
    })
    .transform(({ model, ...event }) => ({ ...nameSizes(event), ...(model !== '' && { model }) })),
  pass_ended: z.object({
    type: z.literal('pass_ended'),
    passId: z.string(),
    outcome: z.enum(OUTCOMES),
  }),
  version_proposed: z
    .object({ type: z.literal('version_proposed'), passId: z.string(), proposal: z.string(), ...toldVersion })
    .transform(nameSizes),
  proposal_decided: z
    .object({
      type: z.literal('proposal_decided'),
      proposal: z.string(),
      verdict: z.enum(['approve', 'reject']),
      reason: z.string().default(''),
    })
    .transform(({ reason, ...event }) => ({ ...event, ...(reason !== '' && { reason }) })),
  approval_refused: z.object({
    type: z.literal('approval_refused'),
    passId: z.string(),
    code: z.enum(REFUSALS),
  }),
} satisfies { readonly [Type in Exclude<EventBody['type'], 'unknown'>]: z.ZodType<Extract<EventBody, { type: Type }>> };

const newsSchema = z.union(Object.values(SCHEMAS));

/** Decodes an event. Never throws: an unreadable event has the type `unknown`. */
export function decodeEvent(id: string, kept: Readonly<Record<string, string>>): ConversationEvent {
  const at = Number(id.split('-', 1)[0]);
  const news = newsSchema.safeParse(kept);
  if (news.success) return { id, at, ...news.data };
  const { type: name = '', ...fields } = kept;
  return { id, at, type: 'unknown', name, fields };
}
