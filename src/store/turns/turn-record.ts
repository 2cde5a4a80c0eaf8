import { z } from 'zod';
import type { TraceParent } from '../../domain/ids.ts';
import type { ClaimedTurn, FailedTurn, TurnLease } from '../../domain/ports/turn-store.ts';
import {
  ANSWER_ENDS,
  type AnswerEnd,
  type StepRecord,
  TURN_LIMITS,
  TURN_STATES,
  type TurnFailure,
  type TurnView,
  WAIT_KINDS,
  type Waiting,
  type WaitingCall,
  type WaitRequest,
  waitingCallSchema,
} from '../../domain/turn.ts';
import { decodeConversation } from '../conversation-record.ts';
import { decodeMessage } from '../log-entry.ts';
import type { RecordFields } from '../record-fields.ts';

/**
 * Fields of `t:<id>:<turn>`. Times in ms since epoch. A value over 64 bytes costs the hash its compact form for good: what
 * every turn has stays below that.
 *
 * While it is there:
 * - agent        whose turn it is
 * - hash         of the payload: another one under the same id is a conflict
 * - state
 * - acceptedAt
 * - dueAt        of a turn that was scheduled: from then on it may be worked on
 * - sweeps       how often a sweep has looked at it, while it is scheduled
 * - ctx          there where its caller gave a context, which lies under `txt:` as `c:<turn>` until it is settled
 * - taken        owner of the first claim since it was accepted or last suspended, until it is settled
 * - trace        span of who enqueued it, where there was one
 * - inputSeq     of its user message; until that is in the log it lies under `txt:` as `i:<turn>`: `tokens bytes`, and on the
 *                next line its JSON
 * - s:<step>     `started <at>` or `done <at> <from> <to> <end>`: seqs and end only where there are any
 * - a:<callId>   an answer that came in; once the turn is settled that one came
 * - ui, uo       tokens read and written, as providers counted them
 * - rt           our tokens of each model call's request
 * - redriveOf    the failed turn whose input it brings again
 * - redrivenAs   the turn that brought its own again last
 *
 * Of a turn that was suspended, kept past the claim until what it waited for is used:
 * - sus          there to tell that there are others of these
 * - sus:<step>   how often the step was suspended
 * - wfor         what for
 * - wstep        the step that waits
 * - wsince       the suspension
 * - wuntil       the deadline
 * - wcalls       for calls: a line for each, its id and its deadline
 * - w:<callId>   there while this call of the wait is open
 * - wleft        how many of these there are
 * - wasks        for calls: their ids, names and arguments as JSON, in the same order. No script reads it
 * - wsteps       how many steps it had
 * - wful         1: what it waits for has come. 0: its pass ended and did not settle the size
 * - wtrace       the span that was suspended
 * - wa:<callId>  of an answer that came in: `tokens bytes`, and on the next line what the log says of the call if the answer
 *                is never used, or nothing for the answer's own JSON
 *
 * Once it is settled:
 * - settledAt
 * - answerSeq    and how the answer ended, where it is not complete
 * - failure      as JSON
 * - canceledBy   wake of the cancel, which may be sent again
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
    agent: turn.needText('agent'),
    attempt: conversation.needCount('attempts'),
    isFirstClaim: turn.text('taken') === lease.owner,
    acceptedAt,
    dueAt: turn.count('dueAt') ?? acceptedAt,
    ...(turn.has('trace') && { askedIn: turn.text('trace') as TraceParent }), // read again where a span is made of it
    claimedAt: conversation.needCount('lease') - TURN_LIMITS.leaseMs,
    inputSeq,
    ...(input !== '' && { input: decodeMessage({ key: turn.key, field: 'inputSeq' }, input) }),
    conversation: state,
    ...(turn.has('ctx') && { hasContext: true as const }),
    steps: new Map(
      turn.withPrefix('s:').map(([key, record]) => [key, decodeStep(turn, { key, record, head: state.head })]),
    ),
    ...(waiting && {
      waited: {
        ...waiting,
        isFulfilled: turn.text('wful') === '1',
        steps: turn.needCount('wsteps'),
        ...readSuspendedIn(turn),
      },
    }),
    answers: new Map(turn.withPrefix('a:')),
  };
}

interface KeptStep {
  readonly key: string;
  readonly record: string;
  /** of the log */
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
  if (to < from) turn.refuse(field, 'its messages end before they begin');
  return { status, at, seqs: { from, to }, ...readEnd(turn, field, end) };
}

/** The fields that a wait is made of. */
export const WAIT_FIELDS = ['wfor', 'wstep', 'wsince', 'wuntil', 'wcalls', 'wasks'] as const;

/** The fields that a view is made of: not its steps, not its input. */
export const VIEW_FIELDS = [
  'state',
  'agent',
  'acceptedAt',
  'settledAt',
  'inputSeq',
  'answerSeq',
  'failure',
  'redriveOf',
  'redrivenAs',
  'ui',
  'uo',
  'rt',
  ...WAIT_FIELDS,
] as const;

/** @param answer content of the log entry at `answerSeq`, where there is one */
export function decodeTurnView(turn: string, fields: RecordFields, answer?: string): TurnView {
  const state = fields.oneOf('state', TURN_STATES);
  const settledAt = fields.count('settledAt');
  const inputSeq = fields.count('inputSeq');
  const waiting = state === 'waiting' ? decodeWaiting(fields) : undefined;
  const usage = { inputTokens: fields.count('ui') ?? 0, outputTokens: fields.count('uo') ?? 0 };
  const view = {
    turn,
    state,
    agent: fields.text('agent') ?? '',
    acceptedAt: fields.needCount('acceptedAt'),
    ...(settledAt !== undefined && { settledAt }),
    ...(waiting && { waiting }),
    ...(inputSeq !== undefined && { inputSeq }),
    ...(answer !== undefined && { answer: readAnswer(fields, answer) }),
    ...(fields.has('failure') && { failure: readFailure(fields) }),
    ...readRedrive(fields),
    requestTokens: fields.counts('rt'),
    ...((fields.has('ui') || fields.has('uo')) && { usage }),
  };
  return view as unknown as TurnView; // the scripts write with each state what it has
}

function readAnswer(fields: RecordFields, content: string): NonNullable<TurnView['answer']> {
  return {
    seq: readAnswerSeq(fields) ?? 0,
    content,
    ...readEnd(fields, 'answerSeq', fields.text('answerSeq')?.split(' ')[1]),
  };
}

/** Undefined of a turn that was not answered. */
export function readAnswerSeq(fields: RecordFields): number | undefined {
  const text = fields.text('answerSeq');
  return text === undefined ? undefined : fields.toSeq('answerSeq', text.split(' ')[0]);
}

const failureSchema = z.looseObject({
  code: z.string(),
  message: z.string(),
  details: z.record(z.string(), z.unknown()).optional(),
});

export function readFailure(fields: RecordFields): TurnFailure {
  return fields.json('failure', failureSchema) as TurnFailure; // `details?: undefined` is no other type here
}

export function readRedrive(fields: RecordFields): Pick<FailedTurn, 'redriveOf' | 'redrivenAs'> {
  const [redriveOf, redrivenAs] = [fields.text('redriveOf'), fields.text('redrivenAs')];
  return { ...(redriveOf !== undefined && { redriveOf }), ...(redrivenAs !== undefined && { redrivenAs }) };
}

function readEnd(fields: RecordFields, field: string, end = ''): { readonly end?: AnswerEnd } {
  return end === '' ? {} : { end: fields.check(field, end, ANSWER_ENDS) };
}

function readSuspendedIn(fields: RecordFields): Pick<WaitRequest, 'suspendedIn'> {
  const suspendedIn = fields.text('wtrace');
  return suspendedIn === undefined ? {} : { suspendedIn };
}

const asksSchema = z.array(waitingCallSchema.omit({ until: true }));

/** @param fields those of the wait, at least */
export function decodeWaiting(fields: RecordFields): Waiting | undefined {
  if (!fields.has('wfor')) return undefined;
  return {
    for: fields.oneOf('wfor', WAIT_KINDS),
    step: fields.text('wstep') ?? '',
    since: fields.needCount('wsince'),
    until: fields.needCount('wuntil'),
    calls: decodeWaitingCalls(fields),
  };
}

function decodeWaitingCalls(fields: RecordFields): WaitingCall[] {
  const lines = fields.text('wcalls') ?? '';
  const untils = new Map(lines.split('\n').map((line) => [line.split(' ')[0], line.split(' ')[1]] as const));
  const calls = fields.has('wasks') ? fields.json('wasks', asksSchema) : [];
  return calls.map((call) => ({ ...call, until: fields.toCount('wcalls', untils.get(call.id)) }));
}
