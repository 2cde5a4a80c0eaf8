/**
 * A request that breaks a rule of its provider is refused again at each retry, so a broken context would end its
 * conversation. Each request is therefore checked before it is sent, and each new version of a context before its
 * commit.
 *
 * The rules read the finished body again, and do not use the code that rendered it: a renderer that checks itself
 * repeats its own mistakes. `turnfold validate` checks the bodies of other programs in the same way. Schemas of the
 * SDKs cannot replace the rules, because they describe fields, and not relations between messages.
 *
 * A format reads a body once, into a view (`<format>/view.ts`). All views have the facts of `BodyView`, so the rules of
 * this file are written once for all formats. The rules of one format are in `<format>/rules.ts`. Rules that need the
 * log (X10, X12, X13, A8) are in `version-checks.ts`. The page docs/reference/wire.md lists all rules by their codes.
 *
 * A rule is a generator of its violations. It also yields undefined where the caller may pause, because checks of a
 * long conversation would block the event loop.
 */

import { endsSlice } from '../../domain/interruptible.ts';
import { isMapping } from '../../domain/parse.ts';
import { type BodyView, findOpenable, NO_POSITION, type ViewedCall, type ViewedResult } from './body-view.ts';
import type { Breach, RuleContext, Rules } from './rule.ts';

/** Rules of all formats. `form` reports parts that could not be read. */
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
function* pairsCallsAndResults(view: BodyView, context: RuleContext): Generator<Breach | undefined> {
  const { maxIdLength = Number.POSITIVE_INFINITY } = view;
  const calls = new Map<string, ViewedCall>();
  for (const [index, call] of view.calls.entries()) {
    if (endsSlice(index)) yield;
    if (calls.has(call.id)) yield { path: call.path, message: 'two tool calls have this id' };
    else calls.set(call.id, call);
    if (call.id.length > maxIdLength) {
      yield {
        path: call.path,
        message: `the tool call id has ${call.id.length} characters, but the limit is ${maxIdLength}`,
      };
    }
  }
  const answered = new Set<string>();
  for (const [index, { path, callId, position }] of view.results.entries()) {
    if (endsSlice(index)) yield;
    const call = calls.get(callId);
    if (call === undefined) yield { path, message: 'no tool call has the id of this result' };
    else if (call.position >= position) yield { path, message: 'the tool result stands before its call' };
    if (answered.has(callId)) yield { path, message: 'the tool call has two results' };
    answered.add(callId);
  }
  yield;
  const openable = findOpenable(view, context);
  yield;
  for (const call of calls.values()) {
    if (!answered.has(call.id) && !openable.has(call)) {
      yield { path: call.path, message: 'the tool call has no result' };
    }
  }
}

/** Wire rule X2: the parallel tool calls of one answer have results for all calls or for none. */
function* keepsBatchesWhole(view: BodyView, context: RuleContext): Generator<Breach | undefined> {
  const answered = answeredIds(view.results);
  yield;
  const openable = findOpenable(view, context);
  yield;
  for (const [index, batch] of [...batches(view.calls)].entries()) {
    if (endsSlice(index)) yield;
    const missing = batch.filter(({ id }) => !answered.has(id));
    const [first] = missing;
    if (first === undefined || missing.length === batch.length || openable.has(first)) continue;
    yield {
      path: first.path,
      message: `${missing.length} of the ${batch.length} tool calls of one answer have no result`,
    };
  }
}

function answeredIds(results: readonly ViewedResult[]): ReadonlySet<string> {
  return new Set(results.map(({ callId }) => callId));
}

function batches(calls: readonly ViewedCall[]): Iterable<readonly ViewedCall[]> {
  return Map.groupBy(calls, ({ answer }) => answer).values();
}

function* holdsNothingEmpty({ texts, emptyLists }: BodyView): Generator<Breach | undefined> {
  for (const [index, { path, text }] of texts.entries()) {
    if (text.trim() === '') yield { path, message: 'the text is empty or blank' };
    if (endsSlice(index)) yield;
  }
  for (const path of emptyLists) yield { path, message: 'the list is empty' };
}

interface Place {
  readonly value: object;
  readonly key: string;
  readonly parent?: Place;
}

/**
 * Wire rule X8: no text or field name holds a lone surrogate. If the body's JSON holds none, the search is skipped,
 * which saves 4 ms for 200,000 tokens. The search uses a stack of its own, because recursion would overflow on deeply
 * nested JSON.
 */
function* isWellFormed({ body, written }: Pick<BodyView, 'body' | 'written'>): Generator<Breach | undefined> {
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

/**
 * Path of a value. It ends before field names inside a call's arguments, because these names are contents of the
 * conversation.
 */
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
function* endsAnswerable(view: BodyView, { isProbed }: RuleContext): Generator<Breach> {
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
function* startsWithUser({ messages }: BodyView): Generator<Breach> {
  const first = messages.find(({ author }) => author !== 'system');
  if (first === undefined) yield { path: '', message: 'the request has no message other than system messages' };
  else if (first.author !== 'user' && first.isCompaction !== true) {
    yield { path: first.path, message: 'the first message after the system messages is not a user message' };
  }
}

const LEGAL_NAME = /^[a-zA-Z0-9_-]+$/;

/** Wire rule X6: calls need tools, each with one legal name. A model may invent the name of a call. */
function* describesTools(view: BodyView): Generator<Breach> {
  const { calls, tools, maxNameLength = Number.POSITIVE_INFINITY } = view;
  const described = new Set<string>();
  for (const { path, name } of tools) {
    if (!LEGAL_NAME.test(name)) yield { path, message: 'the tool name has characters other than a-zA-Z0-9_-' };
    if (name.length > maxNameLength) {
      yield { path, message: `the tool name has ${name.length} characters, but the limit is ${maxNameLength}` };
    }
    if (described.has(name)) yield { path, message: 'two tools have this name' };
    described.add(name);
  }
  for (const { path, name } of calls) {
    if (described.size === 0) yield { path, message: 'the request has tool calls but no tools' };
    if (name === undefined || described.has(name)) continue;
    if (!LEGAL_NAME.test(name) || name.length > maxNameLength)
      yield { path, message: 'the called tool has an illegal name, and is not described in tools' };
  }
}

function* hasObjectArguments({ calls }: BodyView): Generator<Breach> {
  for (const call of calls) {
    if ('input' in call && !isMapping(call.input))
      yield { path: call.path, message: 'the arguments of the tool call are not a JSON object' };
  }
}

/** Wire rule X9: the request fits into the model's window, and into the limits of the provider that are known. */
function* fits(view: BodyView, context: RuleContext): Generator<Breach> {
  const { written } = view;
  const { tokens, usableTokens, maxBytes } = context;
  if (context.isUncapped !== true) yield* countsWithin(view);
  if (tokens !== undefined && usableTokens !== undefined && tokens > usableTokens) {
    yield { path: '', message: `the request has ${tokens} tokens, but the model's window leaves only ${usableTokens}` };
  }
  if (maxBytes === undefined) return;
  const bytes = written?.bytes ?? Number.POSITIVE_INFINITY;
  if (bytes > maxBytes)
    yield { path: '', message: `the request has ${bytes} bytes, but the provider's limit is ${maxBytes}` };
}

function* countsWithin({ messages, tools, maxMessages, maxTools }: BodyView): Generator<Breach> {
  if (maxMessages !== undefined && messages.length > maxMessages) {
    yield {
      path: '',
      message: `the request has ${messages.length} messages, but the provider's limit is ${maxMessages}`,
    };
  }
  if (maxTools !== undefined && tools.length > maxTools) {
    yield { path: '', message: `the request has ${tools.length} tools, but the provider's limit is ${maxTools}` };
  }
}

const SUMMARY = /^\s*<summary\s[^<>]*\bmessages="\d+-\d+"/;

/** Wire rule X11: a summary is in a user message. Only an assistant message in the middle may quote one. */
function* keepsSummariesWithUser(view: BodyView, { isProbed }: RuleContext): Generator<Breach> {
  const { messages, texts } = view;
  const first = messages.findIndex(({ author }) => author !== 'system');
  const last = isProbed === true ? undefined : messages.length - 1;
  for (const { path, text, position } of texts) {
    const author = position === NO_POSITION ? 'system' : messages[position]?.author;
    const isEnd = position === first || position === last;
    if (author !== 'system' && !(author === 'assistant' && isEnd)) continue;
    if (SUMMARY.test(text))
      yield { path, message: `a summary is in a message with the role ${author}, but must be in a user message` };
  }
}
