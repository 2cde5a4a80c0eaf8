import type { ConversationState, Gate } from '../domain/conversation.ts';
import type { OpenCall } from '../domain/history.ts';

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
 * Its log:
 * - head         last seq
 * - ht, hb       tokens and bytes of all
 * - turns        user messages
 * - open         a line for each open call: its id, and the provider's as JSON
 *
 * Its context:
 * - version      the live one
 * - shape        of that: tokens, bytes, base, the log's tokens and bytes up to base
 * - points       versions that are kept for good
 * - anchor       seq, tokens, version, the log's tokens and bytes, setup, `whole`
 * - answered     newest version that a model answered over
 * - quarantine   version of the rollback, hash of the refused segments
 *
 * Its passes:
 * - pass         id of the one in progress
 * - lp, lw, lf   the last end, for calls sent again: pass, wake, 1 where a turn waited for it
 * - passed       head and turns at that end
 * - gate         shut below, passes without gain, breaker; shut below for appends, where that is known
 *
 * Of a fork:
 * - forking      while it is made: operation, version, head, tenant and id of the source
 * - forked       the same, once it is
 * - forkUntil    while it is made: abandoned from then on
 * - forkAgent    while it is made: whose it will be; until then its agent is nobody
 */
export function decodeConversation(hash: ReadonlyMap<string, string>): ConversationState {
  const number = (field: string): number => Number(hash.get(field) ?? 0);
  const [tokens = 0, bytes = 0, , baseTokens = 0, baseBytes = 0] = readNumbers(hash.get('shape'));
  const [passedHead = 0, passedTurns = 0] = readNumbers(hash.get('passed'));
  const passId = hash.get('pass');
  return {
    agent: hash.get('forkAgent') ?? hash.get('agent') ?? '',
    head: number('head'),
    turns: number('turns'),
    openCalls: readOpenCalls(hash.get('open')),
    size: {
      version: number('version'),
      weight: { tokens, bytes },
      baseTotal: { tokens: baseTokens, bytes: baseBytes },
      headTotal: { tokens: number('ht'), bytes: number('hb') },
      ...readAnchor(hash.get('anchor')),
    },
    passed: { head: passedHead, turns: passedTurns },
    gate: readGate(hash.get('gate')),
    ...(passId === undefined || passId === '' ? {} : { passId }),
    ...readQuarantine(hash.get('quarantine')),
    ...readAnswered(hash),
    ...(hash.has('forking') && { isForking: true }),
    ...(hash.has('ttl') && { conversationTtl: Number.parseInt(hash.get('ttl') ?? '', 10) }),
  };
}

/** A line of `open`, as scripts get it. The provider's id is JSON: it may hold anything but then no line break. */
export function encodeOpenCall({ id, providerId }: OpenCall): string {
  return providerId === undefined ? id : `${id} ${JSON.stringify(providerId)}`;
}

export function readOpenCalls(lines = ''): OpenCall[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const end = line.indexOf(' ');
      return end === -1
        ? { id: line }
        : { id: line.slice(0, end), providerId: JSON.parse(line.slice(end + 1)) as string };
    });
}

function readAnchor(text: string | undefined): Pick<ConversationState['size'], 'anchor'> {
  if (text === undefined) return {};
  const [seq = 0, tokens = 0, version = 0, totalTokens = 0, totalBytes = 0] = readNumbers(text);
  const [setup = '', whole] = text.split(' ').slice(5);
  const total = { tokens: totalTokens, bytes: totalBytes };
  return { anchor: { seq, tokens, version, total, ...(setup !== '' && { setup }), ...(whole && { isWhole: true }) } };
}

function readQuarantine(text: string | undefined): Pick<ConversationState, 'quarantine'> {
  const [version, segments] = text?.split(' ') ?? [];
  return version === undefined || segments === undefined ? {} : { quarantine: { version: Number(version), segments } };
}

/** What workers of schema 1 record tells by its anchor alone: that came with an answer. */
function readAnswered(hash: ReadonlyMap<string, string>): Pick<ConversationState, 'answeredVersion'> {
  const told = [hash.get('answered'), hash.get('anchor')?.split(' ')[2]].filter((version) => version !== undefined);
  return told.length === 0 ? {} : { answeredVersion: Math.max(...told.map(Number)) };
}

/** Earlier programs know the first three. */
export function encodeGate(gate: Gate): string {
  const { shutBelowTokens, gainlessPasses, breakerTokens, shutBelowMessageTokens } = gate;
  const numbers = [shutBelowTokens, gainlessPasses, breakerTokens];
  return [...numbers, ...(shutBelowMessageTokens === undefined ? [] : [shutBelowMessageTokens])].join(' ');
}

function readGate(text: string | undefined): Gate {
  const [shutBelowTokens = 0, gainlessPasses = 0, breakerTokens = 0, shutBelowMessageTokens] = readNumbers(text);
  const gate = { shutBelowTokens, gainlessPasses, breakerTokens };
  return shutBelowMessageTokens === undefined ? gate : { ...gate, shutBelowMessageTokens };
}

function readNumbers(text: string | undefined): number[] {
  return text === undefined ? [] : text.split(' ').map(Number);
}
