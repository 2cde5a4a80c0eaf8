import type { Message } from '../../domain/message.ts';
import type { ClaimedTurn, TurnLease } from '../../domain/ports/turn-store.ts';
import type { TraceParent } from '../../domain/trace-parent.ts';
import {
  type AnswerEnd,
  type StepRecord,
  TURN_LIMITS,
  type TurnFailure,
  type TurnState,
  type TurnView,
  type Waiting,
  type WaitRequest,
} from '../../domain/turn.ts';
import { decodeConversation } from '../conversation-record.ts';

/**
 * Fields of `t:<id>:<turn>`.
 *
 * agent hash acceptedAt dueAt state trace (the span of who enqueued it, where there was one; under 64 bytes as all of the hash) · inputSeq (once the input is in the log; until then it lies under `cp:` as i:<turn>,
 * `tokens bytes` and on the next line its JSON) · s:<step> (`started <at>` or `done <at> <from> <to> <end>`) sus:<step>
 * (suspensions) a:<callId> (answer that came in) · wfor wstep wsince wuntil wcalls wful wtrace (what it waits for, whether that has come, and the span that was suspended;
 * kept past the claim, until used) · ui uo (tokens read and written) · rt (tokens of each model call's request) · settledAt
 * answerSeq (and how the answer ended, where it is not complete) failure canceledBy · redriveOf redrivenAs (ids of turns)
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
    ...(turn.has('trace') && { askedIn: turn.get('trace') as TraceParent }),
    claimedAt: Number(conversation.get('lease')) - TURN_LIMITS.leaseMs,
    inputSeq: Number(turn.get('inputSeq')),
    ...(input !== '' && { input: JSON.parse(input) as Message }),
    conversation: decodeConversation(conversation),
    steps: new Map(withPrefix(turn, 's:').map(([key, record]) => [key, decodeStep(record)])),
    ...(waiting && {
      waited: { ...waiting, isFulfilled: turn.has('wful'), ...readSince(turn), ...readSuspendedIn(turn) },
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
  'wfor',
  'wstep',
  'wuntil',
  'wcalls',
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
  return {
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
}

export function readRedrive(fields: ReadonlyMap<string, string>): Pick<TurnView, 'redriveOf' | 'redrivenAs'> {
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
    until: Number(fields.get('wuntil')),
    calls: JSON.parse(fields.get('wcalls') ?? '[]') as string[],
  };
}

/** Turns that an older program suspended do not know it. */
function readSince(fields: ReadonlyMap<string, string>): { readonly since?: number } {
  const since = fields.get('wsince');
  return since === undefined ? {} : { since: Number(since) };
}

function withPrefix(fields: ReadonlyMap<string, string>, prefix: string): [string, string][] {
  return [...fields]
    .filter(([field]) => field.startsWith(prefix))
    .map(([field, value]) => [field.slice(prefix.length), value]);
}
