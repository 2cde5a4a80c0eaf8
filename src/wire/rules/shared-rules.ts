import { endsSlice } from '../../domain/sliced.ts';
import { type BodyView, findOpenable, NO_POSITION, type ViewedCall, type ViewedResult } from './body-view.ts';
import type { Breach, RuleContext, Rules } from './rule.ts';

/**
 * The rules that hold in every format, as far as a body shows them. X10 and X12 compare two things: `checkOrder`,
 * `checkOpenRound`. `form` is no rule of a provider's own: what it names could not be read, and no other rule saw it.
 */
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

/** X1: every call has exactly one result, later than the call; every result has exactly one call; ids are unique and fit. */
function* pairsCallsAndResults(view: BodyView, context: RuleContext): Generator<Breach | undefined> {
  const { maxIdLength = Number.POSITIVE_INFINITY } = view;
  const calls = new Map<string, ViewedCall>();
  for (const [index, call] of view.calls.entries()) {
    if (endsSlice(index)) yield undefined;
    if (calls.has(call.id)) yield { path: call.path, message: 'the id of this call stands twice' };
    else calls.set(call.id, call);
    if (call.id.length > maxIdLength) {
      yield { path: call.path, message: `an id of ${call.id.length} characters: at most ${maxIdLength}` };
    }
  }
  const answered = new Set<string>();
  for (const [index, { path, callId, position }] of view.results.entries()) {
    if (endsSlice(index)) yield undefined;
    const call = calls.get(callId);
    if (call === undefined) yield { path, message: 'this result answers no call' };
    else if (call.position >= position) yield { path, message: 'this result stands before its call' };
    if (answered.has(callId)) yield { path, message: 'the call of this result is answered twice' };
    answered.add(callId);
  }
  yield undefined;
  const openable = findOpenable(view, context);
  yield undefined;
  for (const call of calls.values()) {
    if (!answered.has(call.id) && !openable.has(call)) {
      yield { path: call.path, message: 'this call has no result' };
    }
  }
}

/** X2: the results of a parallel batch stand together or not at all. */
function* keepsBatchesWhole(view: BodyView, context: RuleContext): Generator<Breach | undefined> {
  const answered = answeredIds(view.results);
  yield undefined;
  const openable = findOpenable(view, context);
  yield undefined;
  for (const [index, batch] of [...batches(view.calls)].entries()) {
    if (endsSlice(index)) yield undefined;
    const missing = batch.filter(({ id }) => !answered.has(id));
    const [first] = missing;
    if (first === undefined || missing.length === batch.length || openable.has(first)) continue;
    yield {
      path: first.path,
      message: `${missing.length} of the ${batch.length} calls of one answer lack their results`,
    };
  }
}

/** The ids that results name. */
function answeredIds(results: readonly ViewedResult[]): ReadonlySet<string> {
  return new Set(results.map(({ callId }) => callId));
}

/** Calls by the answer that made them, in order. */
function batches(calls: readonly ViewedCall[]): Iterable<readonly ViewedCall[]> {
  return Map.groupBy(calls, ({ answer }) => answer).values();
}

/** X3: nothing is empty, neither a text nor a list. */
function* holdsNothingEmpty({ texts, emptyLists }: BodyView): Generator<Breach | undefined> {
  for (const [index, { path, text }] of texts.entries()) {
    if (text.trim() === '') yield { path, message: 'empty or blank text' };
    if (endsSlice(index)) yield undefined;
  }
  for (const path of emptyLists) yield { path, message: 'empty list' };
}

interface Place {
  readonly value: object;
  readonly key: string;
  readonly parent?: Place;
}

/**
 * X8: no lone surrogate anywhere in the body, names of fields included. The walk that finds the place is taken only where the
 * body as text shows that there may be one (4 ms less for 200,000 tokens), and keeps its own stack: a recursive one would
 * throw at JSON that is nested deep.
 */
function* isWellFormed({ body, written }: Pick<BodyView, 'body' | 'written'>): Generator<Breach | undefined> {
  if (typeof body !== 'object' || body === null || written?.hasEscapedSurrogate === false) return;
  let count = 0;
  const places: Place[] = [{ value: body, key: '' }];
  for (let place = places.pop(); place !== undefined; place = places.pop(), count += 1) {
    if (endsSlice(count)) yield undefined;
    const holder = place.value as Readonly<Record<string, unknown>>;
    for (const key of Object.keys(holder)) {
      const value = holder[key];
      const isBroken = !key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed());
      if (isBroken) yield { path: pathOf(place, key), message: 'a lone surrogate' };
      if (typeof value === 'object' && value !== null) places.push({ value, key, parent: place });
    }
  }
}

/** Names of fields inside a call's arguments are contents: the path ends before them. */
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

/** X4: the last message is one that the model may answer: a user message, or the complete results of the last round. */
function* endsAnswerable(view: BodyView, { isProbed }: RuleContext): Generator<Breach> {
  const last = view.messages.at(-1);
  if (last === undefined || isProbed === true) return;
  const { path, author } = last;
  if (author === 'assistant' || author === 'system') {
    yield { path, message: `the last message is of the ${author}: expected the user's or a result` };
  }
  if (author !== 'result') return;
  const answered = answeredIds(view.results);
  const lastBatch = [...batches(view.calls)].at(-1) ?? [];
  if (lastBatch.some(({ id }) => !answered.has(id))) yield { path, message: 'the last round is not complete' };
}

/** X5: there is a message besides system, and the first of them is the user's, or stands for it. */
function* startsWithUser({ messages }: BodyView): Generator<Breach> {
  const first = messages.find(({ author }) => author !== 'system');
  if (first === undefined) yield { path: '', message: 'no message besides system' };
  else if (first.author !== 'user' && first.isCompaction !== true) {
    yield { path: first.path, message: "the first message besides system is not the user's" };
  }
}

const LEGAL_NAME = /^[a-zA-Z0-9_-]+$/;

/** X6: every tool that is called is described in `tools`, under a name that its provider takes, and none of them twice. */
function* describesTools(view: BodyView): Generator<Breach> {
  const { calls, tools, maxNameLength = Number.POSITIVE_INFINITY } = view;
  const described = new Set<string>();
  for (const { path, name } of tools) {
    if (!LEGAL_NAME.test(name)) yield { path, message: 'a name with other characters than a-zA-Z0-9_-' };
    if (name.length > maxNameLength) {
      yield { path, message: `a name of ${name.length} characters: at most ${maxNameLength}` };
    }
    if (described.has(name)) yield { path, message: 'the name of this tool stands twice' };
    described.add(name);
  }
  for (const { path, name, mayBeUndescribed } of calls) {
    if (mayBeUndescribed === true && described.size > 0) continue;
    if (name !== undefined && !described.has(name)) yield { path, message: 'the tool of this call is not in tools' };
  }
}

/** X7: arguments are a JSON object. */
function* hasObjectArguments({ calls }: BodyView): Generator<Breach> {
  for (const call of calls) {
    if ('input' in call && !isObject(call.input))
      yield { path: call.path, message: 'the arguments are no JSON object' };
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * X9: the request fits the window in tokens and the provider's cap in bytes, where the context says them, and holds no more
 * messages and tools than the provider takes.
 */
function* fits(view: BodyView, context: RuleContext): Generator<Breach> {
  const { written } = view;
  const { tokens, usableTokens, maxBytes } = context;
  if (context.isUncapped !== true) yield* countsWithin(view);
  if (tokens !== undefined && usableTokens !== undefined && tokens > usableTokens) {
    yield { path: '', message: `${tokens} tokens of ${usableTokens} usable` };
  }
  if (maxBytes === undefined) return;
  const bytes = written?.bytes ?? Number.POSITIVE_INFINITY;
  if (bytes > maxBytes) yield { path: '', message: `${bytes} bytes of at most ${maxBytes}` };
}

function* countsWithin({ messages, tools, maxMessages, maxTools }: BodyView): Generator<Breach> {
  if (maxMessages !== undefined && messages.length > maxMessages) {
    yield { path: '', message: `${messages.length} messages of at most ${maxMessages}` };
  }
  if (maxTools !== undefined && tools.length > maxTools) {
    yield { path: '', message: `${tools.length} tools of at most ${maxTools}` };
  }
}

/** The opening tag of a summary as it is rendered. */
const SUMMARY = /^\s*<summary\s[^<>]*\bmessages="\d+-\d+"/;

/**
 * X11: a summary is the user's, never system's, and neither first nor last as assistant. One that an assistant quotes
 * between them is no breach: a model may well repeat what it read.
 */
function* keepsSummariesWithUser(view: BodyView, { isProbed }: RuleContext): Generator<Breach> {
  const { messages, texts } = view;
  const first = messages.findIndex(({ author }) => author !== 'system');
  const last = isProbed === true ? undefined : messages.length - 1;
  for (const { path, text, position } of texts) {
    const author = position === NO_POSITION ? 'system' : messages[position]?.author;
    const isEnd = position === first || position === last;
    if (author !== 'system' && !(author === 'assistant' && isEnd)) continue;
    if (SUMMARY.test(text)) yield { path, message: `a summary in a message of the ${author}: expected the user's` };
  }
}
