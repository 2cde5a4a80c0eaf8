import { z } from 'zod';
import {
  type Backoff,
  type ConversationState,
  type LeftRange,
  NO_BACKOFF,
  type Quarantine,
  type StepState,
} from '../domain/conversation.ts';
import type { OpenCall } from '../domain/history.ts';
import { indexOfCallId, seqOfCallId } from '../domain/ids.ts';
import { readJsonText } from '../domain/json-text.ts';
import { LEAVE_CAUSES } from '../domain/message.ts';
import { isMapping } from '../domain/parse.ts';
import type { RequestFacts } from '../domain/request-facts.ts';
import type { TurnUsage } from '../domain/turn.ts';
import { joinUsage, NO_USAGE } from '../domain/usage.ts';
import type { SeqRange } from '../domain/version.ts';
import { MAX_SEQ, type RecordFields, readRecordJson } from './records.ts';

/**
 * Fields of `c:<id>`. Every step reads all fields, so numbers that change together share a field, separated by spaces.
 * Times in ms since epoch.
 *
 * - schema       database schema of the program that created the conversation
 * - agent        owner of the conversation
 * - created      seconds and microseconds, to tell conversations under the same id apart
 * - recreated    1 if the key `gone` of an erased conversation existed at the creation
 * - ttl          idle TTL, and the time at which it expires
 *
 * Turn in progress:
 * - epoch        fences former owners. Kept after the turn, because the next epoch must be higher
 * - owner        delivery of a queue job that has claimed the turn
 * - lease        end of the lease
 * - attempts     claims since a step outcome was last recorded, plus the claim that recorded it
 * - alone        1 while the last claim runs with nothing else in its process, `watched` if a parent process reports
 *   its death
 *
 * Mailbox:
 * - wake         queue job that was requested last
 * - sweeps       sweeps since the last claim
 * - poison       wake of the claim that settled a turn whose workers kept dying, for a repeated call
 * - poisoned     that turn
 * - blocked      why the last claim's worker did not answer, if its event loop was blocked: a sentence without its
 *   period
 * - last         outcome and time of the last settlement
 * - settledBy    epoch under which a worker settled a turn last, for a repeated call
 * - steering     1 if turns may wait to go into the running turn
 *
 * Log:
 * - head         last seq
 * - headTokens, headBytes: tokens and bytes of all messages
 * - turns        number of user messages
 * - open         number of tool calls without a result
 * - o:<callId>   such a call: the provider's id for it as JSON if it differs from ours, else ''
 * - packed       number of log entries in packs. The others are in the log
 *
 * Context:
 * - version      live version
 * - liveSize     tokens, bytes and base of the live version, then tokens and bytes of the log up to base
 * - points       restore points: versions that are never dropped
 * - anchor       size that a provider counted: seq, tokens, version, the log's tokens and bytes, fingerprint, `whole`
 * - facts        the last request: system, tools, pins, window, reserve, factor of the upper bound, then its limits:
 *   maxTokens, tokenThreshold, ratioTokens, hardTokens (0 if unknown). Then settings of the policy as JSON
 * - undo         first and last seq of each range that the next turn removes from the context
 * - left         first seq, last seq and cause of the ranges that left the context when their turns were settled
 * - answered     newest version with which a model call succeeded
 * - quarantine   version made by the last rollback, and hash of the segments that the provider refused
 * - spent        input, output and cached tokens of all settled turns and summaries, and their price in millionths of
 *   a dollar
 *
 * Passes:
 * - pass         pass in progress
 * - lastPass, lastPassWake, lastPassAwaited: the pass that ended last, its wake, 1 if a turn waited, for a repeated
 *   call
 * - lastPassSettled: 1 if that end decided the size of the context (I13)
 * - passed       last seq and number of user messages at that end
 * - backoff      nothingBelowTokens, gainlessPasses, noGainBelowTokens, and appendsBelowMessageTokens if known
 * - superseded   owner of the pass that was last ended by a restore or taken over by a turn
 *
 * Fork:
 * - forking      while the fork is copied: operation, then version, last seq, tenant and id of the source
 * - forked       the same values, after the copy
 * - forkUntil, forkAgent: while the fork is copied: time from which it is abandoned, and the agent that will own it
 */
export function decodeConversation(fields: RecordFields): ConversationState {
  const facts = readFacts(fields.text('facts'));
  return {
    ...decodeStepState(fields),
    incarnation: fields.text('created') ?? '',
    openCalls: readOpenCalls(fields),
    ...(fields.has('undo') && { undo: readUndo(fields) }),
    ...(fields.has('left') && { left: readLeft(fields) }),
    ...(fields.has('spent') && { spent: readSpent(fields) }),
    ...(facts && { requestFacts: facts }),
  };
}

export const STEP_STATE_FIELDS =
  'agent forkAgent head turns version liveSize headTokens headBytes anchor passed backoff pass quarantine answered forking ttl steering'.split(
    ' ',
  );

/** Leaves out the open calls: a turn may have 1,000, and the worker knows how each step changed them. */
export function decodeStepState(fields: RecordFields): StepState {
  const [tokens = 0, bytes = 0, , baseTokens = 0, baseBytes = 0] = fields.counts('liveSize');
  const [passedHead = 0, passedTurns = 0] = fields.counts('passed');
  const passId = fields.text('pass');
  const head = fields.count('head') ?? 0;
  if (head > MAX_SEQ) fields.refuse('head', `a log can have at most ${MAX_SEQ} messages`);
  return {
    agent: fields.id('forkAgent') ?? fields.id('agent') ?? '',
    head,
    turns: fields.count('turns') ?? 0,
    size: {
      version: fields.count('version') ?? 0,
      weight: { tokens, bytes },
      baseTotal: { tokens: baseTokens, bytes: baseBytes },
      headTotal: { tokens: fields.count('headTokens') ?? 0, bytes: fields.count('headBytes') ?? 0 },
      ...readAnchor(fields.text('anchor')),
    },
    passed: { head: passedHead, turns: passedTurns },
    backoff: fields.has('backoff') ? readBackoff(fields) : NO_BACKOFF,
    ...(passId === undefined || passId === '' ? {} : { passId }),
    ...(fields.has('quarantine') && { quarantine: readQuarantine(fields) }),
    ...(fields.has('answered') && { answeredVersion: fields.needCount('answered') }),
    ...(fields.has('forking') && { isForking: true }),
    ...(fields.has('steering') && { isSteered: true }),
    ...(fields.has('ttl') && { conversationTtl: readTtl(fields) }),
  };
}

function readUndo(fields: RecordFields): SeqRange[] {
  const seqs = fields.counts('undo');
  const undo = seqs.flatMap((from, at) => (at % 2 === 0 ? [{ from, to: seqs[at + 1] ?? 0 }] : []));
  if (undo.length === 0 || undo.some(({ from, to }, at) => from > to || from <= (undo[at - 1]?.to ?? 0)))
    return fields.refuse('undo', 'the value must be pairs of message numbers in ascending order');
  return undo;
}

/** Reads the ranges in the field `left`. No decision depends on them, so corrupt ranges count as missing. */
function readLeft(fields: RecordFields): LeftRange[] {
  const words = fields.needText('left').split(' ');
  return words.flatMap((word, at): LeftRange[] => {
    const why = at % 3 === 2 ? LEAVE_CAUSES.find((cause) => cause === word) : undefined;
    const [from, to] = [Number(words[at - 2]), Number(words[at - 1])];
    return why !== undefined && from >= 1 && to >= from ? [{ from, to, why }] : [];
  });
}

function readTtl(fields: RecordFields): number {
  const [ttl, ends] = fields.counts('ttl');
  return ttl === undefined || ends === undefined
    ? fields.refuse('ttl', 'the value must be two numbers of ms: the idle TTL and the time at which it ends')
    : ttl;
}

/** Writes an open call in the form that scripts read. The provider's id is JSON, which escapes line breaks. */
export function encodeOpenCall({ id, providerId }: OpenCall): string {
  return providerId === undefined ? id : `${id} ${JSON.stringify(providerId)}`;
}

function readSpent(fields: RecordFields): TurnUsage {
  const [inputTokens = 0, outputTokens = 0, cachedTokens = 0, costMicros = 0] = fields.counts('spent');
  return joinUsage({ inputTokens, outputTokens }, { ...NO_USAGE, cachedTokens, costMicros });
}

export function readOpenCalls(fields: RecordFields): OpenCall[] {
  return fields
    .withPrefix('o:')
    .map(([id, providerId]) => ({ id, providerId, seq: seqOfCallId(id), index: indexOfCallId(id) }))
    .toSorted((a, b) => a.seq - b.seq || a.index - b.index)
    .map(({ id, providerId }) => {
      if (providerId === '') return { id };
      return { id, providerId: readRecordJson({ key: fields.key, field: `o:${id}` }, providerId, z.string()) };
    });
}

/** A corrupt anchor counts as missing, and our own token count is used. */
function readAnchor(text: string | undefined): Pick<ConversationState['size'], 'anchor'> {
  const [fingerprint = '', whole] = text?.split(' ').slice(5) ?? [];
  const [seq = 0, tokens = 0, version = 0, totalTokens = 0, totalBytes = 0] = text?.split(' ', 5).map(Number) ?? [];
  if (text === undefined || ![seq, tokens, version, totalTokens, totalBytes].every(isSound)) return {};
  const total = { tokens: totalTokens, bytes: totalBytes };
  return {
    anchor: {
      seq,
      tokens,
      version,
      total,
      ...(fingerprint !== '' && { fingerprint }),
      ...(whole && { isWhole: true }),
    },
  };
}

function isSound(number: number): boolean {
  return number >= 0 && number < Number.MAX_SAFE_INTEGER;
}

export function encodeFacts(facts: RequestFacts): string {
  const { systemTokens, toolTokens, pinTokens, windowTokens, reservedTokens, upperBoundFactor } = facts;
  const { maxTokens = 0, tokenThreshold = 0, ratioTokens = 0, hardTokens = 0 } = facts;
  const sizes = [systemTokens, toolTokens, pinTokens, windowTokens, reservedTokens, upperBoundFactor];
  const policy = facts.policy === undefined ? [] : [JSON.stringify(facts.policy)];
  return [...sizes, maxTokens, tokenThreshold, ratioTokens, hardTokens, ...policy].join(' ');
}

/** The policy is not validated here, so that each claim of a turn stays cheap. A plan validates the policy. */
function readFacts(text: string | undefined): RequestFacts | undefined {
  if (text === undefined) return undefined;
  const parts = text.split(' ');
  const numbers = parts.slice(0, 10).map(Number);
  if (numbers.length < 10 || !numbers.every(isSound)) return undefined;
  const [systemTokens = 0, toolTokens = 0, pinTokens = 0, windowTokens = 0, reservedTokens = 0, upperBoundFactor = 1] =
    numbers;
  const [maxTokens = 0, tokenThreshold = 0, ratioTokens = 0, hardTokens = 0] = numbers.slice(6);
  const policy = readJsonText(parts.slice(10).join(' '));
  return {
    systemTokens,
    toolTokens,
    pinTokens,
    windowTokens,
    reservedTokens,
    upperBoundFactor,
    ...(maxTokens > 0 && { maxTokens }),
    ...(tokenThreshold > 0 && { tokenThreshold }),
    ...(ratioTokens > 0 && { ratioTokens }),
    ...(hardTokens > 0 && { hardTokens }),
    ...(isMapping(policy) && { policy }),
  };
}

function readQuarantine(fields: RecordFields): Quarantine {
  const [version, segments] = fields.needText('quarantine').split(' ');
  if (segments === undefined)
    return fields.refuse('quarantine', 'the value must consist of a version number and a hash');
  return { version: fields.toCount('quarantine', version), segments };
}

export function encodeBackoff(backoff: Backoff): string {
  const { nothingBelowTokens, gainlessPasses, noGainBelowTokens, appendsBelowMessageTokens } = backoff;
  const numbers = [nothingBelowTokens, gainlessPasses, noGainBelowTokens, appendsBelowMessageTokens];
  return numbers.filter((number) => number !== undefined).join(' ');
}

function readBackoff(fields: RecordFields): Backoff {
  const numbers = fields
    .needText('backoff')
    .split(' ')
    .filter((text) => text !== '');
  const [nothingBelowTokens = 0, gainlessPasses = 0, noGainBelowTokens = 0, appendsBelowMessageTokens] = numbers.map(
    (text) => fields.toNumber('backoff', text),
  );
  const backoff = { nothingBelowTokens, gainlessPasses, noGainBelowTokens };
  return appendsBelowMessageTokens === undefined ? backoff : { ...backoff, appendsBelowMessageTokens };
}

/** A fork is copying messages into this conversation, which accepts nothing else until the copy is complete. */
export interface Forking {
  readonly status: 'forking';
  /** True if the fork no longer renews its lease. The same operation may continue, or another fork may replace it. */
  readonly isAbandoned: boolean;
}

export function readForking(isAbandoned: number): Omit<Forking, 'status'> {
  return { isAbandoned: isAbandoned === 1 };
}
