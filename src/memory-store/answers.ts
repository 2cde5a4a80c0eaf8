import type { AnswerRequest, AnswerResult, StoredAnswer } from '../domain/ports/turn-answers.ts';
import { type AnswerKind, describeDecision, isAnswerKind, type WaitingCall } from '../domain/turn.ts';
import type { MemoryDatabase } from './database.ts';
import { endWait } from './mailbox.ts';
import { readyEntry } from './members.ts';
import type { MemoryTurn } from './turn-record.ts';
import { shortenWait } from './waiting.ts';

/** Requests that a turn keeps, as in `lua/shared/requests.lua`. */
const MOST_REQUESTS = 16;

/** Stores answers to the calls of a waiting turn, as `lua/answer-turn.lua` does in Redis. */
export function answerTurn(db: MemoryDatabase, request: AnswerRequest): AnswerResult {
  const { conversation: ref, turn, answers, wake, request: id } = request;
  if (db.isGone(ref)) return { status: 'gone' };
  const conversation = db.find(ref);
  const record = conversation?.turnRecords.get(turn);
  if (conversation === undefined || record === undefined) return { status: 'not_found' };
  const isWaiting = record.state === 'waiting';
  const { kind, awaited } = listAwaited(record, db.now());
  for (const [call, answer] of answers) {
    if (conversation.isRecreated && answer.hash === undefined && awaited.get(call)?.hash !== undefined)
      return { status: 'unnamed_call', call };
    const refusal = refuseAnswer(record, awaited.has(call) ? kind : undefined, call, answer);
    if (refusal !== undefined) return refusal;
  }
  if (id !== undefined && !record.requests?.includes(id)) {
    record.requests = [...(record.requests ?? []), id].slice(-MOST_REQUESTS);
  }
  if (kind === undefined || ![...answers.keys()].some((call) => awaited.has(call))) return { status: 'answered' };
  for (const [call, { json, unused, verdict, by }] of answers) {
    if (record.answers.has(call)) continue;
    record.answers.set(call, json);
    record.unused.set(call, unused);
    record.decisions.set(call, { verdict, hash: awaited.get(call)?.hash, at: db.now(), by });
  }
  if (![...awaited.keys()].every((call) => record.answers.has(call))) {
    if (isWaiting) {
      shortenWait(record);
      db.ready.set(readyEntry('t', ref), record.waiting?.until ?? 0);
    }
    return { status: 'still_waiting' };
  }
  endWait(db, conversation, kind, { wake, isFulfilled: true });
  return { status: 'answered', ...(isWaiting && conversation.wake === wake && { wake }) };
}

interface Awaited {
  readonly kind?: AnswerKind;
  readonly awaited: ReadonlyMap<string, WaitingCall>;
}

function listAwaited({ state, waiting }: MemoryTurn, now: number): Awaited {
  const isWaiting = state === 'waiting';
  const isOpen = isWaiting || state === 'running' || state === 'queued';
  if (!isOpen || waiting === undefined || !isAnswerKind(waiting.for)) return { awaited: new Map() };
  const calls = waiting.calls.filter(({ until }) => isWaiting || waiting.isFulfilled || until > now);
  return { kind: waiting.for, awaited: new Map(calls.map((call) => [call.id, call])) };
}

/** @param kind kind of the call's wait, or undefined if the call waits no more */
function refuseAnswer(
  record: MemoryTurn,
  kind: AnswerKind | undefined,
  call: string,
  answer: StoredAnswer,
): AnswerResult | undefined {
  const decision = record.decisions.get(call);
  if (kind === undefined && !record.answers.has(call)) return { status: 'not_waiting', call };
  const own = decision === undefined ? record.waiting?.calls.find(({ id }) => id === call)?.hash : decision.hash;
  const isNamed = answer.hash !== undefined && (kind !== undefined || decision !== undefined);
  if (isNamed && own !== answer.hash) return { status: 'other_call', call };
  if (kind !== undefined && answer.for !== kind) return { status: 'other_kind', call, for: kind };
  if (decision === undefined || decision.verdict === answer.verdict) return undefined;
  return { status: 'decided', call, decision: describeDecision(decision.verdict, decision.at, decision.by) };
}
