import { z } from 'zod';
import type { Backoff, ConversationState, StepState } from '../domain/conversation.ts';
import type { OpenCall } from '../domain/history.ts';
import { indexOfCallId, seqOfCallId } from '../domain/ids.ts';
import type { Forking } from '../domain/ports/version-store.ts';
import { MAX_SEQ, type RecordFields, readJson } from './records.ts';

const MAX_COUNT = Number.MAX_SAFE_INTEGER;

/**
 * Fields of `c:<id>`. Numbers that change together share a field, separated by spaces, because every step reads all of
 * them. Times in ms since epoch.
 *
 * - schema       of the program that created it
 * - agent        owner of the conversation
 * - ttl          idle TTL and its end
 *
 * Turn in progress:
 * - epoch        stays after the turn: the next epoch is higher
 * - owner        delivery that has the turn
 * - lease        end of the lease
 * - attempts     claims since the last recorded outcome, plus the claim that recorded it
 * - alone        1 while the last claim runs with nothing else in its process
 *
 * Mailbox:
 * - wake         last wake that was requested
 * - sweeps       pushes by the sweeper since the last claim
 * - poison       wake of the claim that settled a poison turn, for a repeated call
 * - poisoned     that turn
 * - last         outcome and time of the last settlement
 *
 * Log:
 * - head         last seq
 * - headTokens, headBytes: tokens and bytes of all messages
 * - turns        user messages
 * - open         count of open calls
 * - o:<callId>   open call: the provider's id as JSON if it differs, else ''
 *
 * Context:
 * - version      live version
 * - liveSize     tokens, bytes and base of the live version, then tokens and bytes of the log up to base
 * - points       versions that are kept for good
 * - anchor       seq, tokens, version, the log's tokens and bytes, fingerprint, `whole`
 * - answered     newest version that a model answered
 * - quarantine   version of the rollback, hash of the refused segments
 *
 * Passes:
 * - pass         id of the pass in progress
 * - lastPass, lastPassWake, lastPassAwaited: the pass that ended last, the wake of that end, 1 if a turn waited for the pass.
 *                A repeated call gets its reply from these fields
 * - lastPassSettled: 1 if that end settled the size of the context
 * - passed       head and turns at that end
 * - backoff      nothingBelowTokens, gainlessPasses, noGainBelowTokens, and appendsBelowMessageTokens if known
 * - superseded   last owner whose pass was taken away
 *
 * Fork:
 * - forking      until the end: operation, version, head, tenant and id of the source
 * - forked       the same, after the end
 * - forkUntil    until the end: the fork is abandoned from then on
 * - forkAgent    until the end: its future agent
 */
export function decodeConversation(fields: RecordFields): ConversationState {
  return { ...decodeStepState(fields), openCalls: readOpenCalls(fields) };
}

/** Fields that `decodeStepState` reads. */
export const STEP_STATE_FIELDS =
  'agent forkAgent head turns version liveSize headTokens headBytes anchor passed backoff pass quarantine answered forking ttl'.split(
    ' ',
  );

/** State without open calls. A turn may have 1,000, and its worker knows how each step changed them. */
export function decodeStepState(fields: RecordFields): StepState {
  const [tokens = 0, bytes = 0, , baseTokens = 0, baseBytes = 0] = fields.counts('liveSize');
  const [passedHead = 0, passedTurns = 0] = fields.counts('passed');
  const passId = fields.text('pass');
  return {
    agent: fields.text('forkAgent') ?? fields.text('agent') ?? '',
    head: readHead(fields),
    turns: fields.count('turns') ?? 0,
    size: {
      version: fields.count('version') ?? 0,
      weight: { tokens, bytes },
      baseTotal: { tokens: baseTokens, bytes: baseBytes },
      headTotal: { tokens: fields.count('headTokens') ?? 0, bytes: fields.count('headBytes') ?? 0 },
      ...readAnchor(fields.text('anchor')),
    },
    passed: { head: passedHead, turns: passedTurns },
    backoff: readBackoff(fields),
    ...(passId === undefined || passId === '' ? {} : { passId }),
    ...readQuarantine(fields),
    ...readAnswered(fields),
    ...(fields.has('forking') && { isForking: true }),
    ...(fields.has('ttl') && { conversationTtl: readTtl(fields) }),
  };
}

function readHead(fields: RecordFields): number {
  const head = fields.count('head') ?? 0;
  return head <= MAX_SEQ ? head : fields.refuse('head', `a log has at most ${MAX_SEQ} messages`);
}

function readTtl(fields: RecordFields): number {
  const [ttl, ends] = fields.counts('ttl');
  return ttl === undefined || ends === undefined ? fields.refuse('ttl', 'it must hold two times') : ttl;
}

/** An opened call as scripts read it. JSON escapes line breaks in the id of the provider. */
export function encodeOpenCall({ id, providerId }: OpenCall): string {
  return providerId === undefined ? id : `${id} ${JSON.stringify(providerId)}`;
}

/** Open calls, oldest first. */
export function readOpenCalls(fields: RecordFields): OpenCall[] {
  return fields
    .withPrefix('o:')
    .map(([id, providerId]) => ({ id, providerId, seq: seqOfCallId(id), index: indexOfCallId(id) }))
    .toSorted((a, b) => a.seq - b.seq || a.index - b.index)
    .map(({ id, providerId }) => {
      if (providerId === '') return { id };
      return { id, providerId: readJson({ key: fields.key, field: `o:${id}` }, providerId, z.string()) };
    });
}

/** A corrupt anchor counts as none: the size is then our own count. */
function readAnchor(text: string | undefined): Pick<ConversationState['size'], 'anchor'> {
  const [fingerprint = '', whole] = text?.split(' ').slice(5) ?? [];
  const [seq = 0, tokens = 0, version = 0, totalTokens = 0, totalBytes = 0] = text?.split(' ', 5).map(Number) ?? [];
  const isSound = [seq, tokens, version, totalTokens, totalBytes].every((number) => number >= 0 && number < MAX_COUNT);
  if (text === undefined || !isSound) return {};
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

function readQuarantine(fields: RecordFields): Pick<ConversationState, 'quarantine'> {
  const text = fields.text('quarantine');
  if (text === undefined) return {};
  const [version, segments] = text.split(' ');
  if (segments === undefined) return fields.refuse('quarantine', 'it must hold a version and a hash');
  return { quarantine: { version: fields.toCount('quarantine', version), segments } };
}

function readAnswered(fields: RecordFields): Pick<ConversationState, 'answeredVersion'> {
  const answeredVersion = fields.count('answered');
  return answeredVersion === undefined ? {} : { answeredVersion };
}

export function encodeBackoff(backoff: Backoff): string {
  const { nothingBelowTokens, gainlessPasses, noGainBelowTokens, appendsBelowMessageTokens } = backoff;
  const numbers = [nothingBelowTokens, gainlessPasses, noGainBelowTokens];
  return [...numbers, ...(appendsBelowMessageTokens === undefined ? [] : [appendsBelowMessageTokens])].join(' ');
}

function readBackoff(fields: RecordFields): Backoff {
  const numbers = (fields.text('backoff') ?? '').split(' ').filter((text) => text !== '');
  const [nothingBelowTokens = 0, gainlessPasses = 0, noGainBelowTokens = 0, appendsBelowMessageTokens] = numbers.map(
    (text) => fields.toNumber('backoff', text),
  );
  const backoff = { nothingBelowTokens, gainlessPasses, noGainBelowTokens };
  return appendsBelowMessageTokens === undefined ? backoff : { ...backoff, appendsBelowMessageTokens };
}

/** Reply of `lua/shared/forking.lua`. */
export type ForkingReply = ['forking', number];

export function decodeForking([status, isAbandoned]: ForkingReply): Forking {
  return { status, isAbandoned: isAbandoned === 1 };
}
