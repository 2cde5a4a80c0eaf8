/**
 * A provider refuses a request that breaks one of its rules at each retry, which would end the conversation. So each
 * request is checked before it is sent, and each new version of a context before its commit.
 *
 * The rules read the finished body again, without the code that wrote it: a writer that checks itself repeats its own
 * mistakes. `turnfold validate` checks the bodies of other programs in the same way. Schemas of the SDKs cannot replace
 * the rules, because they describe fields, and not relations between messages.
 *
 * Each format reads a body once, into a view (`<format>/view.ts`). All views have the facts of `BodyView`, so this file
 * has the rules that hold for all formats. `<format>/rules.ts` has those of one format, and `version-checks.ts` those
 * that need the log (X10, X12, X13, A8). docs/reference/wire.md lists all rules by their codes.
 */

import { endsSlice } from '../../domain/interruptible.ts';
import { isMapping } from '../../domain/parse.ts';
import { isBlank } from '../parts.ts';
import { type BodyView, findOpenable, NO_POSITION, type ViewedCall, type ViewedResult } from './body-view.ts';
import { type Breaches, breachesOf, type RuleContext, type Rules } from './rule.ts';

/** Rules for all formats, by their codes. `form` reports parts that could not be read. */
export const sharedRules: Rules<BodyView> = {
  form: ({ malformed }) => malformed,
  X1: pairsCallsAndResults,
  X2: keepsBatchesWhole,
  X3: holdsNothingEmpty,
  X4: endsAnswerable,
  X5: startsWithUser,
  X6: describesTools,
  X7: hasObjectArguments,
  X8: isWellFormed,
  X9: fits,
  X11: keepsSummariesWithUser,
};

/** Wire rule X1: each call has one later result, and each result has one call. Ids are unique and within the limit. */
function* pairsCallsAndResults(view: BodyView, context: RuleContext): Breaches {
  const { maxIdLength = Number.POSITIVE_INFINITY } = view;
  const calls = new Map<string, ViewedCall>();
  yield* breachesOf(view.calls, (call) => {
    if (calls.has(call.id)) return 'two tool calls have this id';
    calls.set(call.id, call);
    return undefined;
  });
  yield* breachesOf(view.calls, ({ id: { length } }) => {
    return length > maxIdLength && `the tool call id has ${length} characters, but the limit is ${maxIdLength}`;
  });
  yield* breachesOf(view.results, ({ callId, position }) => {
    const call = calls.get(callId);
    if (call === undefined) return 'no tool call has the id of this result';
    return call.position >= position && 'the tool result stands before its call';
  });
  const answered = new Set<string>();
  yield* breachesOf(view.results, ({ callId }) => {
    if (answered.has(callId)) return 'the tool call has two results';
    answered.add(callId);
    return undefined;
  });
  yield;
  const openable = findOpenable(view, context);
  yield;
  yield* breachesOf([...calls.values()], (call) => {
    return !answered.has(call.id) && !openable.has(call) && 'the tool call has no result';
  });
}

/** Wire rule X2: the parallel tool calls of one answer have results for all calls or for none. */
function* keepsBatchesWhole(view: BodyView, context: RuleContext): Breaches {
  const answered = answeredIds(view.results);
  yield;
  const openable = findOpenable(view, context);
  yield;
  for (const [index, batch] of [...batches(view.calls)].entries()) {
    if (endsSlice(index)) yield;
    const missing = batch.filter(({ id }) => !answered.has(id));
    const [first] = missing;
    if (first === undefined || missing.length === batch.length || openable.has(first)) continue;
    const message = `${missing.length} of the ${batch.length} tool calls of one answer have no result`;
    yield { path: first.path, message };
  }
}

function answeredIds(results: readonly ViewedResult[]): ReadonlySet<string> {
  return new Set(results.map(({ callId }) => callId));
}

function batches(calls: readonly ViewedCall[]): Iterable<readonly ViewedCall[]> {
  return Map.groupBy(calls, ({ answer }) => answer).values();
}

function* holdsNothingEmpty({ texts, emptyLists }: BodyView): Breaches {
  yield* breachesOf(texts, ({ text }) => isBlank(text) && 'the text is empty or blank');
  for (const path of emptyLists) yield { path, message: 'the list is empty' };
}

interface Place {
  readonly value: object;
  readonly key: string;
  readonly parent?: Place;
}

/**
 * Wire rule X8: no text or field name has a lone surrogate. JSON without any is not searched, which saves 4 ms for
 * 200,000 tokens. The search has a stack of its own, because recursion would overflow on deeply nested JSON.
 */
function* isWellFormed({ body, written }: Pick<BodyView, 'body' | 'written'>): Breaches {
  if (typeof body !== 'object' || body === null || written?.hasEscapedSurrogate === false) return;
  let count = 0;
  const places: Place[] = [{ value: body, key: '' }];
  for (let place = places.pop(); place !== undefined; place = places.pop(), count += 1) {
    if (endsSlice(count)) yield;
    const holder = place.value as Readonly<Record<string, unknown>>;
    for (const key of Object.keys(holder)) {
      const value = holder[key];
      const isBroken = !key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed());
      if (isBroken) yield { path: pathOf(place, key), message: 'the text holds a lone surrogate' };
      if (typeof value === 'object' && value !== null) places.push({ value, key, parent: place });
    }
  }
}

/** Path of a place. The path ends at a call's arguments, because names inside are contents of the conversation. */
function pathOf(parent: Place, key: string): string {
  const keys = [key];
  for (let place = parent; place.parent !== undefined; place = place.parent) keys.unshift(place.key);
  const input = keys.indexOf('input', 1);
  return keys
    .slice(0, input < 0 ? keys.length : input + 1)
    .map((name) => (/^\d+$/.test(name) ? `[${name}]` : `.${name}`))
    .join('')
    .slice(1)
    .toWellFormed();
}

/** Wire rule X4: the model may answer the last message, and every call of the last answer has a result. */
function* endsAnswerable(view: BodyView, { isProbed }: RuleContext): Breaches {
  const last = view.messages.at(-1);
  if (last === undefined || isProbed === true) return;
  const { path, author } = last;
  if (author === 'assistant') {
    yield { path, message: `the last message has the role ${author}, but must be a user message or a tool result` };
  }
  if (author !== 'result') return;
  const answered = answeredIds(view.results);
  const lastBatch = [...batches(view.calls)].at(-1) ?? [];
  if (lastBatch.some(({ id }) => !answered.has(id)))
    yield { path, message: 'a tool call of the last answer has no result' };
}

/** Wire rule X5: the first message, apart from system messages, is a user message or a compaction. */
function* startsWithUser({ messages }: BodyView): Breaches {
  const first = messages.find(({ author }) => author !== 'system');
  if (first === undefined) yield { path: '', message: 'the request has no message other than system messages' };
  else if (first.author !== 'user' && first.isCompaction !== true) {
    yield { path: first.path, message: 'the first message after the system messages is not a user message' };
  }
}

const LEGAL_NAME = /^[a-zA-Z0-9_-]+$/;

/** Wire rule X6: calls need tools, each with one legal name. A model may invent the name of a call. */
function* describesTools(view: BodyView): Breaches {
  const { calls, tools, maxNameLength = Number.POSITIVE_INFINITY } = view;
  const described = new Set<string>();
  for (const { path, name } of tools) {
    if (!LEGAL_NAME.test(name)) yield { path, message: 'the tool name has characters other than a-zA-Z0-9_-' };
    if (name.length > maxNameLength)
      yield { path, message: `the tool name has ${name.length} characters, but the limit is ${maxNameLength}` };
    if (described.has(name)) yield { path, message: 'two tools have this name' };
    described.add(name);
  }
  yield* breachesOf(calls, () => described.size === 0 && 'the request has tool calls but no tools');
  yield* breachesOf(calls, ({ name }) => {
    const isKnown = name === undefined || described.has(name);
    const isLegal = isKnown || (LEGAL_NAME.test(name) && name.length <= maxNameLength);
    return !isLegal && 'the called tool has an illegal name, and is not described in tools';
  });
}

function hasObjectArguments({ calls }: BodyView): Breaches {
  return breachesOf(calls, (call) => {
    return 'input' in call && !isMapping(call.input) && 'the arguments of the tool call are not a JSON object';
  });
}

/** Wire rule X9: the request fits into the model's window, and into the limits of the provider that are known. */
function fits({ written, messages, tools, ...view }: BodyView, context: RuleContext): Breaches {
  const { tokens = 0, usableTokens, maxBytes, isUncapped = false } = context;
  const { maxMessages, maxTools } = isUncapped ? {} : view;
  const bytes = written?.bytes ?? Number.POSITIVE_INFINITY;
  const counts = [
    [messages.length, maxMessages, "messages, but the provider's limit is"],
    [tools.length, maxTools, "tools, but the provider's limit is"],
    [tokens, usableTokens, "tokens, but the model's window leaves only"],
    [bytes, maxBytes, "bytes, but the provider's limit is"],
  ] as const;
  return counts
    .filter(([count, limit = Number.POSITIVE_INFINITY]) => count > limit)
    .map(([count, limit, what]) => ({ path: '', message: `the request has ${count} ${what} ${limit}` }));
}

const SUMMARY = /^\s*<summary\s[^<>]*\bmessages="\d+-\d+"/;

/** Wire rule X11: a summary is in a user message. Only an assistant message in the middle may quote one. */
function keepsSummariesWithUser({ messages, texts }: BodyView, { isProbed }: RuleContext): Breaches {
  const first = messages.findIndex(({ author }) => author !== 'system');
  const last = isProbed === true ? undefined : messages.length - 1;
  return breachesOf(texts, ({ text, position }) => {
    const author = position === NO_POSITION ? 'system' : messages[position]?.author;
    const isEnd = position === first || position === last;
    const isMisplaced = author === 'system' || (author === 'assistant' && isEnd);
    return (
      isMisplaced &&
      SUMMARY.test(text) &&
      `a summary is in a message with the role ${author}, but must be in a user message`
    );
  });
}
