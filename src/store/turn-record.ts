import { z } from 'zod';
import { boundedList, boundedRecord, MAX_GROWN_ENTRIES } from '../domain/bounded-schemas.ts';
import type { ConversationState } from '../domain/conversation.ts';
import type { TraceParent } from '../domain/ids.ts';
import type { TurnLease } from '../domain/lease.ts';
import { CLOSING_RESULT, MAX_CALLS, type Message } from '../domain/message.ts';
import {
  ANSWER_ENDS,
  type AnswerEnd,
  describeDecision,
  type RecordedDecision,
  type StepRecord,
  TURN_LIMITS,
  type TurnCaps,
  type TurnFailure,
  WAIT_KINDS,
  type Waiting,
  type WaitingCall,
  type WaitRequest,
  waitingCallSchema,
} from '../domain/turn.ts';
import { decodeConversation } from './conversation-record.ts';
import { decodeMessage } from './log.ts';
import type { RecordFields } from './records.ts';

/** The oldest unsettled turn, with everything that its worker needs to continue. */
export interface ClaimedTurn {
  readonly lease: TurnLease;
  readonly agent: string;
  /** Number of claims since the last progress. From `maxAttempts` on, the turn may only run alone in a process. */
  readonly attempt: number;
  /** True for the first claim since the acceptance or the last suspension, also if that claim is repeated. */
  readonly isFirstClaim: boolean;
  readonly acceptedAt: number;
  /** Time from which the turn was allowed to run, by the clock of Redis. */
  readonly dueAt: number;
  readonly caps: TurnCaps;
  /** Tokens used so far, by the provider's count, or by ours if the provider reported none. */
  readonly spentTokens: number;
  readonly traceParent?: TraceParent;
  readonly claimedAt: number;
  readonly inputSeq: number;
  /** User message, if it is the last log entry. Workers that know the log before it need not read the message. */
  readonly input?: Message;
  /**
   * Messages before `input`. Present only for a short, unpacked log that is the whole context, and not after a
   * settlement.
   */
  readonly earlier?: readonly Message[];
  readonly conversation: ConversationState;
  readonly hasContext?: true;
  /** The turn brings tools, instructions or settings of its own. */
  readonly hasOwn?: true;
  readonly steps: ReadonlyMap<string, StepRecord>;
  /**
   * The wait that ends with this claim, and the number of steps when the wait started. `isFulfilled` is false if the
   * wait timed out, or if compaction left the context too large (I13).
   */
  readonly waited?: Waiting &
    Pick<WaitRequest, 'suspendedIn' | 'isHeld'> & { readonly isFulfilled: boolean; readonly steps: number };
  readonly answers: ReadonlyMap<string, string>;
}

/**
 * Fields of `t:<id>:<turn>`. Times in ms since epoch. A value over 64 bytes makes Redis give up the compact encoding
 * of the hash for good, so fields of every turn are shorter.
 *
 * Always:
 * - agent        owner of the conversation
 * - hash         hash of the payload. Another payload under the same turn id is a conflict
 * - state, acceptedAt
 * - dueAt        time at which a scheduled turn is to run
 * - sweeps       sweeps while the turn is scheduled
 * - hasContext   until settled, if the caller gave a context, which lies in `txt:` as `c:<turn>`
 * - hasOwn       until settled, if the turn brings its own tools, instructions or settings, which lie in `txt:` as
 *   `o:<turn>`
 * - putOff       time before which no worker claims the turn, set when a worker gave it back with a delay
 * - firstOwner   owner of the first claim since the turn was accepted or last suspended, until settled
 * - trace        trace span of the caller
 * - inputSeq     seq of its user message. Until the first claim the message lies in `txt:` as `i:<turn>`: `tokens
 *   bytes`, then its JSON on the next line
 * - s:<step>     `started <at>` or `done <at> <from> <to> <end>`, the last three only if the step wrote messages
 * - a:<callId>   answer that a service gave to this call, empty once the turn is settled
 * - decisions    a line per answered call: its id, the time, the verdict, the hash of the call or `-`, and who
 *   answered
 * - requests     requests that brought answers, oldest first
 * - inputTokens, outputTokens, cachedTokens: as providers counted them
 * - costMicros   price of the model calls in millionths of a dollar
 * - requestTokens: tokens of each model request, by our own count
 * - caps         `deadlineMs maxTurnTokens` if the caller set one of these limits. 0 stands for no limit
 * - metadata     the caller's names and values as JSON
 * - steer        1 while the turn waits to go into the running turn
 * - steeredInto  running turn into which the message of this turn went
 * - redriveOf    failed turn whose input this turn repeats
 * - redrivenAs   last turn that repeated the input of this failed turn
 *
 * Since a suspension, until the wait is used:
 * - suspended    1: further fields of this group exist
 * - suspended:<step>, suspendedSince:<step>: number of suspensions, and time of the first if time limits the waits
 * - waitFor, waitStep, waitSince, waitUntil: what the turn waits for, the waiting step, the suspension, the deadline
 * - waitCalls    a line per call: its id and its deadline
 * - waitOpen, waitOpen:<callId>: number of open calls, and one field for each
 * - waitHashes   a line per call: its id and its hash
 * - waitArguments: ids, names, arguments, inputs and hashes of the calls as JSON. No script reads this field
 * - waitSteps    number of steps at the suspension
 * - waitFulfilled: 1 if the wait is fulfilled, 0 if its pass ended without deciding the size (I13)
 * - waitHeld     1 if the gate of a model chose the time of the wait
 * - waitSpan     trace span that ended at the suspension
 * - waitUnused:<callId>: `tokens bytes` of an accepted answer. The next line is its result for the log if the answer
 *   is never used. An empty line stands for the JSON of the answer itself
 *
 * Once settled:
 * - settledAt
 * - answerSeq    seq of the answer, and the reason if the answer is incomplete, or `json` if it matches a schema
 * - stoppedSeq   seq of the text that a canceled turn had streamed
 * - failure      the error as JSON
 * - own          of a failed turn, its own tools, instructions and settings as JSON, for a redrive
 * - canceledBy   wake that the cancel recorded, for a repeated call
 * - replacedBy   turn that took the place of a canceled one, for a repeated call
 */
export function decodeClaimedTurn(
  lease: Omit<TurnLease, 'epoch'>,
  turn: RecordFields,
  conversation: RecordFields,
  input = '',
): ClaimedTurn {
  const waiting = decodeWaiting(turn);
  const state = decodeConversation(conversation);
  const acceptedAt = turn.needCount('acceptedAt');
  const inputSeq = turn.toSeq('inputSeq', turn.needText('inputSeq'), state.head);
  return {
    lease: { ...lease, epoch: conversation.needCount('epoch') },
    agent: turn.needId('agent'),
    attempt: conversation.needCount('attempts'),
    isFirstClaim: turn.text('firstOwner') === lease.owner,
    acceptedAt,
    dueAt: turn.count('dueAt') ?? acceptedAt,
    caps: turn.has('caps') ? readCaps(turn) : {},
    spentTokens: readSpent(turn),
    ...(turn.has('trace') && { traceParent: turn.text('trace') as TraceParent }),
    claimedAt: conversation.needCount('lease') - TURN_LIMITS.leaseMs,
    inputSeq,
    ...(input !== '' && { input: decodeMessage({ key: turn.key, field: 'inputSeq' }, input) }),
    conversation: state,
    ...(turn.has('hasContext') && { hasContext: true as const }),
    ...(turn.has('hasOwn') && { hasOwn: true as const }),
    steps: new Map(
      turn.withPrefix('s:').map(([key, record]) => [key, decodeStep(turn, { key, record, head: state.head })]),
    ),
    ...(waiting && {
      waited: {
        ...waiting,
        isFulfilled: turn.text('waitFulfilled') === '1',
        ...(turn.has('waitHeld') && { isHeld: true }),
        steps: turn.needCount('waitSteps'),
        ...readSuspendedIn(turn),
      },
    }),
    answers: new Map(turn.withPrefix('a:')),
  };
}

export function encodeCaps({ deadlineMs = 0, maxTurnTokens = 0 }: TurnCaps = {}): string {
  return deadlineMs + maxTurnTokens === 0 ? '' : `${deadlineMs} ${maxTurnTokens}`;
}

function readCaps(turn: RecordFields): TurnCaps {
  const [deadlineMs = 0, maxTurnTokens = 0] = turn.counts('caps');
  return { ...(deadlineMs > 0 && { deadlineMs }), ...(maxTurnTokens > 0 && { maxTurnTokens }) };
}

function readSpent(turn: RecordFields): number {
  const counted = (turn.count('inputTokens') ?? 0) + (turn.count('outputTokens') ?? 0);
  return counted > 0 ? counted : turn.counts('requestTokens').reduce((sum, tokens) => sum + tokens, 0);
}

interface KeptStep {
  readonly key: string;
  readonly record: string;
  readonly head: number;
}

export function decodeStep(turn: RecordFields, { key, record, head }: KeptStep): StepRecord {
  const field = `s:${key}`;
  const [word, time, first, last, end] = record.split(' ');
  const status = turn.check(field, word, ['started', 'done']);
  const at = turn.toCount(field, time);
  if (status === 'started') return { status, at };
  if (first === undefined) return { status, at };
  const from = turn.toSeq(field, first, head);
  const to = turn.toSeq(field, last, head);
  if (to < from) turn.refuse(field, 'the last message number of the step is lower than the first');
  return { status, at, seqs: { from, to }, ...readEnd(turn, field, end) };
}

/** Note behind `answerSeq` that says: the answer matches the schema of its agent. */
export const STRUCTURED = 'json';

const failureSchema = z.looseObject({
  code: z.string(),
  message: z.string(),
  details: boundedRecord(z.string(), z.unknown(), MAX_GROWN_ENTRIES).optional(),
});

export function readTurnFailure(fields: RecordFields): TurnFailure {
  return fields.json('failure', failureSchema) as TurnFailure;
}

export function readRedrive(fields: RecordFields): { readonly redriveOf?: string; readonly redrivenAs?: string } {
  const [redriveOf, redrivenAs] = [fields.text('redriveOf'), fields.text('redrivenAs')];
  return { ...(redriveOf !== undefined && { redriveOf }), ...(redrivenAs !== undefined && { redrivenAs }) };
}

export function readEnd(fields: RecordFields, field: string, end = ''): { readonly end?: AnswerEnd } {
  return end === '' ? {} : { end: fields.check(field, end, ANSWER_ENDS) };
}

function readSuspendedIn(fields: RecordFields): Pick<WaitRequest, 'suspendedIn'> {
  const suspendedIn = fields.text('waitSpan');
  return suspendedIn === undefined ? {} : { suspendedIn };
}

/** Argument of scripts that close open calls: tokens and bytes of the error result, then its content as JSON. */
export const CLOSING_ARGUMENT = `${CLOSING_RESULT.tokens} ${CLOSING_RESULT.bytes}\n${JSON.stringify(CLOSING_RESULT.content)}`;

export const WAIT_FIELDS = [
  'waitFor',
  'waitStep',
  'waitSince',
  'waitUntil',
  'waitCalls',
  'waitArguments',
  'decisions',
] as const;

const asksSchema = boundedList(waitingCallSchema.omit({ until: true, decision: true }), MAX_CALLS);

/** @param fields at least `WAIT_FIELDS` */
export function decodeWaiting(fields: RecordFields): Waiting | undefined {
  if (!fields.has('waitFor')) return undefined;
  return {
    for: fields.oneOf('waitFor', WAIT_KINDS),
    step: fields.text('waitStep') ?? '',
    since: fields.needCount('waitSince'),
    until: fields.needCount('waitUntil'),
    calls: decodeWaitingCalls(fields),
  };
}

function decodeWaitingCalls(fields: RecordFields): WaitingCall[] {
  const lines = fields.text('waitCalls') ?? '';
  const untils = new Map(lines.split('\n').map((line) => [line.split(' ')[0], line.split(' ')[1]] as const));
  const calls = fields.has('waitArguments') ? fields.json('waitArguments', asksSchema) : [];
  const decisions = decodeDecisions(fields);
  return calls.map((call) => {
    const decision = decisions.get(call.id);
    return { ...call, until: fields.toCount('waitCalls', untils.get(call.id)), ...(decision && { decision }) };
  });
}

function decodeDecisions(fields: RecordFields): ReadonlyMap<string, RecordedDecision> {
  const lines = fields.text('decisions')?.split('\n') ?? [];
  return new Map(
    lines.map((line) => {
      const [call = '', at, verdict = '', _hash, ...by] = line.split(' ');
      return [call, describeDecision(verdict, fields.toCount('decisions', at), by.join(' '))];
    }),
  );
}
