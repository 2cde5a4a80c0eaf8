import { isDeepStrictEqual } from 'node:util';
import { groupInSlices } from '../../domain/group.ts';
import { endsSlice, forEachInSlices, type Interruptible } from '../../domain/interruptible.ts';
import type { Message } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import { readRawItems, type WireFormat } from '../../domain/raw-items.ts';
import { isBlank } from '../parts.ts';
import { isBound, isThinkingValid } from '../raw-items.ts';
import { NO_ORIGIN, type Origin, type Rendered, type Violation, type WireRequest } from '../wire-request.ts';

/**
 * Wire rule X10: messages are sent in their order. Only a tool result may move, to its call. System messages at the
 * start are skipped, because they are joined with the system prompt.
 */
export function* checkOrder(
  { messages }: Pick<WireRequest, 'messages'>,
  { format, origins: sent }: Pick<Rendered<unknown>, 'format' | 'origins'>,
): Interruptible<Violation[]> {
  const violations: Violation[] = [];
  const callers = yield* findCallers(messages);
  const start = messages.findIndex(({ role }) => role !== 'system');
  const seen = new Set<Origin>();
  let last: Origin = -1;
  yield* forEachInSlices(sent, (origins, index) => {
    const report = (message: string) => violations.push({ rule: 'X10', path: pathOf(format, index), message });
    for (const origin of origins) {
      const message = messages[origin];
      if (message === undefined || origin < start || seen.has(origin)) continue;
      seen.add(origin);
      if (message.role !== 'tool') {
        if (origin < last) report(`message ${origin} of the context is sent after message ${last}`);
        last = Math.max(last, origin);
      } else if (callers.get(message.toolCallId ?? '') !== last) {
        report(`tool result ${origin} of the context is not sent directly after its call`);
      }
    }
  });
  yield* forEachInSlices(messages, ({ role }, origin) => {
    if (origin < start || seen.has(origin) || (start < 0 && role === 'system')) return;
    violations.push({ rule: 'X10', path: '', message: `message ${origin} of the context is not sent` });
  });
  return violations;
}

function* findCallers(messages: readonly Message[]): Interruptible<Map<string, Origin>> {
  const callers = new Map<string, Origin>();
  yield* forEachInSlices(messages, ({ toolCalls = [] }, origin) => {
    for (const { id } of toolCalls) callers.set(id, origin);
  });
  return callers;
}

function pathOf(format: WireFormat, index: number): string {
  return `${format === 'openai-responses' ? 'input' : 'messages'}[${index}]`;
}

/**
 * Wire rule X12: compaction changes no message of an open tool round. Paths refer to `before`.
 * @throws orphan_result or duplicate_call if `before` is not a valid history
 */
export function* checkOpenRound(before: readonly Message[], after: readonly Message[]): Interruptible<Violation[]> {
  const kept = new Map<string, Message>();
  yield* forEachInSlices(after, (message) => {
    for (const key of keysOf(message)) kept.set(key, message);
  });
  const open = (yield* groupInSlices(before)).filter(({ isOpen }) => isOpen);
  return open
    .flatMap(({ positions }) => positions)
    .filter((position) => {
      const message = before[position] as Message;
      // A set, because a message can have 10,000 tool calls.
      const found = new Set(keysOf(message).map((key) => kept.get(key)));
      return ![...found].every((one) => isDeepStrictEqual(one, message));
    })
    .map((position) => ({
      rule: 'X12',
      path: `messages[${position}]`,
      message: 'compaction removed or changed a message of a tool round that still lacks results',
    }));
}

/** Keys of the calls and results in a message. The first letter tells a call from its result, which has the same id. */
function keysOf({ toolCalls = [], toolCallId }: Message): string[] {
  return toolCallId === undefined ? toolCalls.map(({ id }) => `c${id}`) : [`r${toolCallId}`];
}

/**
 * Wire rule A8: only the model that wrote thinking gets it back, under the same context version, system texts and
 * tools. A body does not show where its thinking was written, so this check reads the log.
 */
export function* checkThinking(
  request: Pick<WireRequest, 'messages' | 'model' | 'version'>,
  rendered: Rendered<unknown>,
): Interruptible<Violation[]> {
  const violations: Violation[] = [];
  const { format, prefix, body } = rendered;
  const binding = { format, prefix, model: request.model, version: request.version };
  // Anthropic has thinking inside messages, and Responses has reasoning as separate items.
  const { messages, input } = body as { messages?: readonly { content: unknown }[]; input?: readonly object[] };
  yield* forEachInSlices<object>(input ?? messages ?? [], (entry, place) => {
    const content = 'content' in entry ? entry.content : undefined;
    const blocks: readonly object[] = input !== undefined ? [entry] : Array.isArray(content) ? content : [];
    const origins = rendered.origins[place] ?? [];
    for (const [index, block] of blocks.entries()) {
      if (!isBound(block)) continue;
      const message = request.messages[origins[index] ?? origins[0] ?? NO_ORIGIN];
      const raw = message && readRawItems(message);
      if (message === undefined || (raw !== undefined && isThinkingValid(raw, binding))) continue;
      violations.push({
        rule: 'A8',
        path: input !== undefined ? `input[${place}]` : `messages[${place}].content[${index}]`,
        message: 'the thinking was written by another model, or under another context version, system prompt or tools',
      });
    }
  });
  return violations;
}

/** Characters that are searched between two yields, in less than 5 ms. */
const SLICE_CHARACTERS = 1_000_000;
const MIN_SEARCHED = 50;

/** Wire rule X13: compaction changes no pinned message. Paths refer to `before`. */
export function* checkPinned(before: readonly Message[], after: readonly Message[]): Interruptible<Violation[]> {
  const pinned = after.filter((message) => message.pinned === true);
  const byContent = Map.groupBy(pinned, ({ content }) => content);
  const kept = new Set(pinned);
  yield;
  const violations: Violation[] = [];
  yield* forEachInSlices(before, (message, position) => {
    if (message.pinned !== true || kept.has(message)) return;
    const isKept = byContent.get(message.content)?.some((one) => isDeepStrictEqual(one, message)) ?? false;
    if (!isKept) violations.push(breach(`messages[${position}]`, 'compaction removed or changed a pinned message'));
  });
  return violations;
}

/** Wire rule X13: the policy's pinned texts and the texts of pinned messages are sent byte for byte. */
export function* checkPins(
  { messages }: Pick<WireRequest, 'messages'>,
  { body }: Pick<Rendered<unknown>, 'body'>,
  pins: readonly string[],
): Interruptible<Violation[]> {
  const sought = pins.map((text, index) => ({ path: `pins[${index}]`, text }));
  yield* forEachInSlices(messages, (message, origin) => {
    // The text of messages with verbatim blocks may be left out, and the text of summaries is escaped.
    if (message.pinned !== true || message.raw !== undefined || message.role === 'summary') return;
    for (const text of textsOf(message)) sought.push({ path: `messages[${origin}]`, text: text.toWellFormed() });
  });
  if (sought.length === 0) return [];
  // Nearly all pinned texts are sent whole. The other texts are searched for in the whole body.
  const whole = yield* collectTexts(body);
  const others = sought.filter(({ text }) => !whole.has(text));
  const lost = new Set(others);
  let searched = 0;
  for (const sent of lost.size === 0 ? [] : whole) {
    for (const one of lost) {
      if (sent.includes(one.text)) lost.delete(one);
      searched += Math.max(MIN_SEARCHED, sent.length);
      if (searched < SLICE_CHARACTERS) continue;
      searched = 0;
      yield;
    }
  }
  return [...lost].map(({ path }) =>
    breach(path, 'a pinned text (required in every request) is not sent byte for byte'),
  );
}

function* collectTexts(body: unknown): Interruptible<ReadonlySet<string>> {
  const texts = new Set<string>();
  const values = [body];
  let count = 0;
  for (let value = values.pop(); value !== undefined; value = values.pop(), count += 1) {
    if (endsSlice(count)) yield;
    if (typeof value === 'string') texts.add(value);
    else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) if (inner !== undefined) values.push(inner);
    }
  }
  return texts;
}

/** Assistant and system messages send only text. */
function textsOf(message: Message): string[] {
  const { role, content } = message;
  const isTextOnly = role === 'assistant' || role === 'system';
  const texts = isTextOnly
    ? [content]
    : readParts(message).flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  return texts.filter((text) => !isBlank(text));
}

function breach(path: string, message: string): Violation {
  return { rule: 'X13', path, message };
}
