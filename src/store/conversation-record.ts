import { z } from 'zod';
import type { Backoff, ConversationState, StepState } from '../domain/conversation.ts';
import type { OpenCall } from '../domain/history.ts';
import { indexOfCallId, seqOfCallId } from '../domain/ids.ts';
import { MAX_SEQ, type RecordFields, readJson } from './record-fields.ts';

/** Above any size that we count. */
const MAX_COUNT = Number.MAX_SAFE_INTEGER;

/**
 * Fields of `c:<id>`. Figures that change together share one, blanks between: every step answers all of them. Times in ms since
 * epoch.
 *
 * - schema       that made it
 * - agent        whose conversation it is
 * - ttl          how long it may rest, and until when it does
 *
 * Its owner, while a turn is worked on:
 * - epoch        stays: the next one is higher
 * - owner        of the delivery
 * - lease        until when
 * - attempts     claims since the last recorded outcome, and the claim that recorded it
 * - alone        1 while its last claim runs with nothing else in its process
 *
 * Its mailbox:
 * - wake         the last one that was asked for
 * - sweeps       how often a sweep has looked at it since its last claim
 * - poison       wake of the claim that gave a turn up, which may be sent again
 * - poisoned     the turn
 * - settled      when one of its turns settled last
 *
 * - last         how its last settled turn ended, and when
 *
 * Its log:
 * - head         last seq
 * - ht, hb       tokens and bytes of all
 * - turns        user messages
 * - open         how many calls are open
 * - o:<callId>   an open call: the provider's id as JSON where it has another, else ''
 *
 * Its context:
 * - version      the live one
 * - shape        of that: tokens, bytes, base, the log's tokens and bytes up to base
 * - points       versions that are kept for good
 * - anchor       seq, tokens, version, the log's tokens and bytes, fingerprint, `whole`
 * - answered     newest version that a model answered over
 * - quarantine   version of the rollback, hash of the refused segments
 *
 * Its passes:
 * - pass         id of the one in progress
 * - lp, lw, lf   the last end, for calls sent again: pass, wake, 1 where a turn waited for it
 * - ls           1 if that end settled the context's size
 * - passed       head and turns at that end
 * - backoff         shut below, passes without gain, breaker; shut below for appends, where that is known
 *
 * Of a fork:
 * - forking      while it is made: operation, version, head, tenant and id of the source
 * - forked       the same, once it is
 * - forkUntil    while it is made: abandoned from then on
 * - forkAgent    while it is made: whose it will be; until then its agent is nobody
 */
export function decodeConversation(fields: RecordFields): ConversationState {
  return { ...decodeStepState(fields), openCalls: readOpenCalls(fields) };
}

/** What `decodeStepState` reads. */
export const STEP_STATE_FIELDS =
  'agent forkAgent head turns version shape ht hb anchor passed backoff pass quarantine answered forking ttl'.split(
    ' ',
  );

/** The state without its open calls, of which a turn may have 1,000: a step of the turn knows how it changed them. */
export function decodeStepState(fields: RecordFields): StepState {
  const [tokens = 0, bytes = 0, , baseTokens = 0, baseBytes = 0] = fields.counts('shape');
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
      headTotal: { tokens: fields.count('ht') ?? 0, bytes: fields.count('hb') ?? 0 },
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

/** A line of `open`, as scripts get it. The provider's id is JSON: it may hold anything but then no line break. */
export function encodeOpenCall({ id, providerId }: OpenCall): string {
  return providerId === undefined ? id : `${id} ${JSON.stringify(providerId)}`;
}

/** Oldest first. */
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

/** An anchor that cannot be read is none: the size is then our own count. */
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

/** What workers of schema 1 record tells by its anchor alone: that came with an answer. */
function readAnswered(fields: RecordFields): Pick<ConversationState, 'answeredVersion'> {
  const told = [fields.count('answered'), readAnchor(fields.text('anchor')).anchor?.version];
  const versions = told.filter((version) => version !== undefined);
  return versions.length === 0 ? {} : { answeredVersion: Math.max(...versions) };
}

/** Earlier programs know the first three. */
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
