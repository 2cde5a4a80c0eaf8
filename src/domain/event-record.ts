import { z } from 'zod';
import { boundedList } from './bounded-schemas.ts';
import type { ApprovalRefusalCode, ConversationEvent, EventBody, PassEndKind } from './conversation-event.ts';
import { readJsonText, STORED_JSON_BOUNDS } from './json-text.ts';
import { MAX_CALLS } from './message.ts';
import type { Proposal, Verdict } from './proposal.ts';
import { type CallToWaitFor, type RecordedCall, SETTLED_STATES, WAIT_KINDS, waitingCallSchema } from './turn.ts';
import { joinUsage, NO_USAGE } from './usage.ts';
import { type Version, versionSchema } from './version.ts';

const list = z.string().transform((text) => (text === '' ? [] : text.split(',')));
const numeric = z
  .string()
  .regex(/^-?\d+(\.\d+)?$/)
  .transform(Number);

const json = z.string().transform((text, context): unknown => {
  const value = readJsonText(text, STORED_JSON_BOUNDS);
  if (value !== undefined) return value;
  context.addIssue('expected JSON');
  return z.NEVER;
});

// The type makes the compiler require every outcome. A missing outcome would be read as unknown.
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
} as const satisfies { readonly [Kind in PassEndKind]: Kind };

const REFUSALS = {
  invalid_input: 'invalid_input',
  proposal_stale: 'proposal_stale',
  conversation_busy: 'conversation_busy',
} as const satisfies { readonly [Code in ApprovalRefusalCode]: Code };

const versionReport = {
  reasons: list,
  strategy: versionSchema.shape.strategy,
  archived: numeric,
  before: numeric,
  after: numeric,
};

function nameSizes<Fields extends { readonly before: number; readonly after: number }>({
  before,
  after,
  ...rest
}: Fields) {
  return { ...rest, tokensBefore: before, tokensAfter: after };
}

/** Unknown fields are dropped. An unknown value makes the event `unknown`. */
const SCHEMAS = {
  turn_settled: z
    .object({
      type: z.literal('turn_settled'),
      turn: z.string(),
      state: z.enum(SETTLED_STATES),
      inputTokens: numeric.optional(),
      outputTokens: numeric.optional(),
      cachedTokens: numeric.optional(),
      costMicros: numeric.optional(),
    })
    .transform(({ inputTokens = 0, outputTokens = 0, cachedTokens = 0, costMicros = 0, ...event }) => {
      const usage = joinUsage({ inputTokens, outputTokens }, { ...NO_USAGE, cachedTokens, costMicros });
      return inputTokens + outputTokens === 0 ? event : { ...event, usage };
    }),
  turn_steered: z.object({ type: z.literal('turn_steered'), turn: z.string(), into: z.string(), seq: numeric }),
  turn_waiting: z
    .object({
      type: z.literal('turn_waiting'),
      turn: z.string(),
      for: z.enum(WAIT_KINDS),
      until: numeric,
      calls: json.pipe(
        boundedList(
          waitingCallSchema.omit({ until: true, decision: true }).extend({ isCut: z.literal(true).optional() }),
          MAX_CALLS,
        ),
      ),
      deadlines: list.pipe(boundedList(numeric, MAX_CALLS)),
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
      version: numeric,
      cause: versionSchema.shape.cause,
      ...versionReport,
      durationMs: numeric,
      model: z.string().default(''),
    })
    .transform(({ model, ...event }) => ({ ...nameSizes(event), ...(model !== '' && { model }) })),
  pass_ended: z.object({
    type: z.literal('pass_ended'),
    passId: z.string(),
    outcome: z.enum(OUTCOMES),
  }),
  version_proposed: z
    .object({ type: z.literal('version_proposed'), passId: z.string(), proposal: z.string(), ...versionReport })
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

const bodySchema = z.union(Object.values(SCHEMAS));

export function decodeEvent(id: string, kept: Readonly<Record<string, string>>): ConversationEvent {
  const at = Number(id.split('-', 1)[0]);
  const body = bodySchema.safeParse(kept);
  if (body.success) return { id, at, ...body.data };
  const { type: name = '', ...fields } = kept;
  return { id, at, type: 'unknown', name, fields };
}

export function versionEvent(version: Version): Readonly<Record<string, string>> {
  const { number, cause, durationMs, model } = version;
  return {
    version: String(number),
    cause,
    ...encodeReport(version),
    durationMs: String(durationMs),
    model: model ?? '',
  };
}

export function proposalEvent(passId: string, { id, version }: Proposal): Readonly<Record<string, string>> {
  return { passId, proposal: id, ...encodeReport(version) };
}

function encodeReport({ reasons, strategy, archived, tokensBefore, tokensAfter }: Version) {
  return {
    reasons: reasons.join(','),
    strategy,
    archived: String(archived),
    before: String(tokensBefore),
    after: String(tokensAfter),
  };
}

/** A reason for a rejection is stored only in this event. */
export function decisionEvent(proposal: string, verdict: Verdict): Readonly<Record<string, string>> {
  const reason = verdict.kind === 'reject' ? (verdict.reason ?? '') : '';
  return { proposal, verdict: verdict.kind, reason };
}

/** Maximum characters of all arguments in an event, and of all inputs. About 500 events are kept. */
const MAX_CALL_CHARACTERS = 4_000;

export function encodeWaitingCalls(calls: readonly CallToWaitFor[]): string {
  const most = Math.floor(MAX_CALL_CHARACTERS / Math.max(1, calls.length));
  const cut = (text: string): string => (text.length <= most ? text : text.slice(0, most).toWellFormed());
  return JSON.stringify(
    recordCalls(calls).map((call) => {
      const { arguments: text, input = '' } = call;
      if (text.length <= most && input.length <= most) return call;
      return { ...call, arguments: cut(text), ...(input !== '' && { input: cut(input) }), isCut: true };
    }),
  );
}

export function recordCalls(calls: readonly CallToWaitFor[]): RecordedCall[] {
  return calls.map(({ waitMs: _, ...call }) => call);
}
