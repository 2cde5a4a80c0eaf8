import type { Message } from '../../domain/message.ts';
import type { ClaimedTurn, FailedTurn, TurnLease } from '../../domain/ports/turn-store.ts';
import type { TraceParent } from '../../domain/trace-parent.ts';
import {
  type AnswerEnd,
  type StepRecord,
  TURN_LIMITS,
  type TurnFailure,
  type TurnState,
  type TurnView,
  type Waiting,
  type WaitingCall,
  type WaitRequest,
} from '../../domain/turn.ts';
import { decodeConversation } from '../conversation-record.ts';

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
 * - ctx          there where its caller gave a context, which lies under `cp:` as `c:<turn>` until it is settled
 * - trace        span of who enqueued it, where there was one
 * - inputSeq     of its user message; until that is in the log it lies under `cp:` as `i:<turn>`: `tokens bytes`, and on the
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
 * - wasks        for calls: their ids, names and arguments as JSON, in the same order. No script reads it
 * - wful         what it waits for has come
 * - wtrace       the span that was suspended
 *
 * Once it is settled:
 * - settledAt
 * - answerSeq    and how the answer ended, where it is not complete
 * - failure      as JSON
 * - canceledBy   wake of the cancel, which may be sent again
 */
export function decodeClaimedTurn(
  lease: Omit<TurnLease, 'epoch'>,
  turn: ReadonlyMap<string, string>,
  conversation: ReadonlyMap<string, string>,
  input = '',
): ClaimedTurn {
  const waiting = decodeWaiting(turn);
  return {
    lease: { ...lease, epoch: Number(conversation.get('epoch')) },
    agent: turn.get('agent') ?? '',
    attempt: Number(conversation.get('attempts')),
    acceptedAt: Number(turn.get('acceptedAt')),
    dueAt: Number(turn.get('dueAt') ?? turn.get('acceptedAt')),
    ...(turn.has('trace') && { askedIn: turn.get('trace') as TraceParent }),
    claimedAt: Number(conversation.get('lease')) - TURN_LIMITS.leaseMs,
    inputSeq: Number(turn.get('inputSeq')),
    ...(input !== '' && { input: JSON.parse(input) as Message }),
    conversation: decodeConversation(conversation),
    ...(turn.has('ctx') && { hasContext: true as const }),
    steps: new Map(withPrefix(turn, 's:').map(([key, record]) => [key, decodeStep(record)])),
    ...(waiting && {
      waited: { ...waiting, isFulfilled: turn.has('wful'), ...readSuspendedIn(turn) },
    }),
    answers: new Map(withPrefix(turn, 'a:')),
  };
}

export function decodeStep(record: string): StepRecord {
  const [status, at, from, to, end] = record.split(' ');
  if (status === 'started') return { status, at: Number(at) };
  const seqs = from === undefined ? {} : { seqs: { from: Number(from), to: Number(to) } };
  return { status: 'done', at: Number(at), ...seqs, ...readEnd(end) };
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
export function decodeTurnView(turn: string, fields: ReadonlyMap<string, string>, answer?: string): TurnView {
  const state = fields.get('state') as TurnState;
  const settledAt = fields.get('settledAt');
  const inputSeq = fields.get('inputSeq');
  const [seq, end] = fields.get('answerSeq')?.split(' ') ?? [];
  const failure = fields.get('failure');
  const waiting = state === 'waiting' ? decodeWaiting(fields) : undefined;
  const usage = { inputTokens: Number(fields.get('ui') ?? 0), outputTokens: Number(fields.get('uo') ?? 0) };
  const view = {
    turn,
    state,
    agent: fields.get('agent') ?? '',
    acceptedAt: Number(fields.get('acceptedAt')),
    ...(settledAt !== undefined && { settledAt: Number(settledAt) }),
    ...(waiting && { waiting }),
    ...(inputSeq !== undefined && { inputSeq: Number(inputSeq) }),
    ...(answer !== undefined && { answer: { seq: Number(seq), content: answer, ...readEnd(end) } }),
    ...(failure !== undefined && { failure: JSON.parse(failure) as TurnFailure }),
    ...readRedrive(fields),
    requestTokens: (fields.get('rt') ?? '').split(' ').filter(Boolean).map(Number),
    ...((fields.has('ui') || fields.has('uo')) && { usage }),
  };
  return view as unknown as TurnView; // the scripts write with each state what it has
}

export function readRedrive(fields: ReadonlyMap<string, string>): Pick<FailedTurn, 'redriveOf' | 'redrivenAs'> {
  const [redriveOf, redrivenAs] = [fields.get('redriveOf'), fields.get('redrivenAs')];
  return { ...(redriveOf !== undefined && { redriveOf }), ...(redrivenAs !== undefined && { redrivenAs }) };
}

function readEnd(end = ''): { readonly end?: AnswerEnd } {
  return end === '' ? {} : { end: end as AnswerEnd };
}

function readSuspendedIn(fields: ReadonlyMap<string, string>): Pick<WaitRequest, 'suspendedIn'> {
  const suspendedIn = fields.get('wtrace');
  return suspendedIn === undefined ? {} : { suspendedIn };
}

/** @param fields those of the wait, at least */
export function decodeWaiting(fields: ReadonlyMap<string, string>): Waiting | undefined {
  const kind = fields.get('wfor');
  if (kind === undefined) return undefined;
  return {
    for: kind as Waiting['for'],
    step: fields.get('wstep') ?? '',
    since: Number(fields.get('wsince')),
    until: Number(fields.get('wuntil')),
    calls: decodeWaitingCalls(fields.get('wcalls'), fields.get('wasks')),
  };
}

function decodeWaitingCalls(deadlines = '', asks = '[]'): WaitingCall[] {
  const untils = new Map(deadlines.split('\n').map((line) => line.split(' ') as [string, string]));
  const calls = JSON.parse(asks) as Omit<WaitingCall, 'until'>[];
  return calls.map((call) => ({ ...call, until: Number(untils.get(call.id)) }));
}

function withPrefix(fields: ReadonlyMap<string, string>, prefix: string): [string, string][] {
  return [...fields]
    .filter(([field]) => field.startsWith(prefix))
    .map(([field, value]) => [field.slice(prefix.length), value]);
}
