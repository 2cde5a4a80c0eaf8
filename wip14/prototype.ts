/**
 * Prototype of issue 14: chooses the fragments of a context that the agent will probably use next.
 * Pure and deterministic. No word lists, no model, no corpus at run time. Steps:
 * 1. `readEvidence`: one scan. Terms (words, compounds, CJK bigrams), where and when each occurs, fragments (lines).
 * 2. `worthOf`: p(used next) per term by a logistic table, minus τ times the mean p of terms of its kind and count.
 * 3. `forceParts`: users' words and the newest rounds, each up to its share of the budget.
 * 4. `chooseFragments`: exact greedy coverage by worth per token. Then filling without new terms.
 * 5. `renderRange`: the chosen fragments in the order of events, per sequence or as a whole.
 */
export interface Message {
  readonly role: string;
  readonly content: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly isError?: boolean;
}
export type Sliced<T> = Generator<void, T, void>;
export function runToEnd<T>(steps: Sliced<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

// ------------------------------------------------------------------------------------------------ characters
const OTHER = 0, LOWER = 1, UPPER = 2, DIGIT = 3, UNDERSCORE = 4, JOINER = 5, CJK = 6, SPACE = 7, UNKNOWN = 255;
const CLASSES = new Uint8Array(65_536).fill(UNKNOWN);

function classOf(unit: number): number {
  const known = CLASSES[unit] as number;
  return known === UNKNOWN ? (CLASSES[unit] = classify(String.fromCharCode(unit))) : known;
}

function classify(char: string): number {
  if (/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(char)) return CJK;
  if (/\p{Lu}/u.test(char)) return UPPER;
  if (/[\p{L}\p{M}]/u.test(char)) return LOWER;
  if (/\p{N}/u.test(char)) return DIGIT;
  if (char === '_') return UNDERSCORE;
  if ('./-@:#+~$%'.includes(char)) return JOINER;
  return /\s/.test(char) ? SPACE : OTHER;
}

const isWordClass = (kind: number): boolean => kind >= LOWER && kind <= UNDERSCORE;
const MIN_TERM = 3;
const MAX_TERM = 120;

type Emit = (term: string, start: number, end: number) => void;

/** Finds words of ≥ 3 characters, compounds joined without spaces, file names of paths, and CJK bigrams. Linear. */
export function scanTerms(text: string, from: number, to: number, emit: Emit): void {
  let at = from;
  while (at < to) {
    const kind = classOf(text.charCodeAt(at));
    if (kind === CJK) at = scanCjk(text, at, to, emit);
    else if (isWordClass(kind)) at = scanCompound(text, at, to, emit);
    else at += 1;
  }
}

function scanCjk(text: string, start: number, to: number, emit: Emit): number {
  let end = start + 1;
  while (end < to && classOf(text.charCodeAt(end)) === CJK) end += 1;
  for (let at = start; at + 2 <= end; at += 1) emit(text.slice(at, at + 2), at, at + 2);
  return end;
}

function scanCompound(text: string, start: number, to: number, emit: Emit): number {
  let at = start, words = 0, end = start, slash = -1, dot = -1;
  for (;;) {
    const word = at;
    while (at < to && isWordClass(classOf(text.charCodeAt(at)))) at += 1;
    if (at - word >= MIN_TERM) emit(text.slice(word, at), word, at);
    words += 1;
    end = at;
    let next = at;
    while (next < to && next - at < 3 && classOf(text.charCodeAt(next)) === JOINER) next += 1;
    const isJoined = next > at && next < to && isWordClass(classOf(text.charCodeAt(next))) && next - start <= MAX_TERM;
    if (!isJoined) break;
    if (text[next - 1] === '/') slash = next;
    if (text[next - 1] === '.') dot = next;
    at = next;
  }
  if (words > 1 && end - start <= MAX_TERM) {
    emit(text.slice(start, end), start, end);
    if (slash > start && dot > slash) emit(text.slice(slash, end), slash, end);
  }
  return end;
}

/** Estimates tokens without a tokenizer (o200k: within 10 % on the traces). `compose` corrects it by an exact count. */
export function estimateTokens(text: string, from: number, to: number): number {
  let tokens = 0, at = from;
  while (at < to) {
    const first = classOf(text.charCodeAt(at));
    let end = at + 1;
    if (first === LOWER || first === UPPER) {
      let previous = first;
      for (; end < to; end += 1) {
        const kind = classOf(text.charCodeAt(end));
        if (kind !== LOWER && !(kind === UPPER && previous === UPPER)) break;
        previous = kind;
      }
      const isCapitals = first === UPPER && end - at > 1 && classOf(text.charCodeAt(at + 1)) === UPPER;
      tokens += isCapitals ? Math.max(1, (end - at) / 2.6) : end - at <= 7 ? 1.06 : 1 + (end - at - 5) / 6;
    } else if (first === CJK) tokens += 0.8;
    else if (first === OTHER && !(text.charCodeAt(at) > 31 && text.charCodeAt(at) < 127)) tokens += 1.5;
    else {
      while (end < to && first !== UNDERSCORE && classOf(text.charCodeAt(end)) === first) end += 1;
      if (first === DIGIT) tokens += Math.ceil((end - at) / 3);
      else if (first === SPACE) tokens += end - at > 1 ? 0.7 : 0;
      else tokens += first === UNDERSCORE ? 0.5 : 0.65 + 0.12 * (end - at);
    }
    at = end;
  }
  return tokens;
}

// ------------------------------------------------------------------------------------------------ evidence
export const USER = 0, SAY = 1, CALL = 2, RESULT = 3;

/** What is known of a term. Arrays are by origin: user, agent's text, call, result. */
export interface Term {
  readonly text: string;
  readonly first: number;
  /** Index of its pattern (`ab_12` → `a_00`). */
  readonly pattern: number;
  readonly counts: [number, number, number, number];
  readonly last: [number, number, number, number];
  messages: number;
  lastMessage: number;
  lines: number;
  /** Occurrences followed, or preceded, by `:` or `=`: keys and values. */
  keys: number;
  values: number;
  wasError: boolean;
  /** The agent used it after it had been used or read before. */
  wasReused: boolean;
  lastFragment: number;
}

/** A line, or a piece of a long line. Terms are `termIds[firstTerm … endTerm − 1]`. */
export interface Fragment {
  readonly message: number;
  readonly origin: number;
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly tokens: number;
  readonly firstTerm: number;
  readonly endTerm: number;
}

export interface Evidence {
  readonly messages: readonly Message[];
  readonly terms: readonly Term[];
  readonly fragments: readonly Fragment[];
  readonly termIds: readonly number[];
  readonly patternCounts: readonly number[];
  /** Tokens before each message, and in total. */
  readonly tokensBefore: readonly number[];
  readonly tokens: number;
  readonly resultTerms: Float64Array;
  readonly lastUser: number;
  /** Terms of the system text and names of tools: always present, so worth nothing. */
  readonly known: ReadonlySet<string>;
}

const MAX_LINE = 240;
const MIN_PIECE = 160;
/** Fragments, terms or choices between two yields: 2 to 5 ms. */
const ITEMS_A_SLICE = 2_048;
/** Characters read between two yields. */
const CHARS_A_SLICE = 16_384;

export function* readEvidence(messages: readonly Message[], system: string, tools: Iterable<string>): Sliced<Evidence> {
  const terms: Term[] = [], fragments: Fragment[] = [], termIds: number[] = [], patternCounts: number[] = [];
  const index = new Map<string, number>(), patterns = new Map<string, number>(), known = new Set(tools);
  const tokensBefore: number[] = [], resultTerms = new Float64Array(messages.length);
  let tokens = 0, lastUser = -1, unread = CHARS_A_SLICE;
  scanTerms(system, 0, system.length, (term) => known.add(term));

  const addTerm = (text: string, message: number): number => {
    const shape = patternOf(text);
    let pattern = patterns.get(shape);
    if (pattern === undefined) patterns.set(shape, (pattern = patternCounts.push(0) - 1));
    const counts: Term['counts'] = [0, 0, 0, 0], last: Term['last'] = [-1, -1, -1, -1];
    index.set(text, terms.length);
    return terms.push({ text, first: message, pattern, counts, last, messages: 0, lastMessage: -1, lines: 0, keys: 0, values: 0, wasError: false, wasReused: false, lastFragment: -1 }) - 1;
  };
  const note = (text: string, word: string, start: number, end: number, message: number, origin: number, isError: boolean): void => {
    const id = index.get(word) ?? addTerm(word, message);
    const term = terms[id] as Term;
    if (term.last[origin] !== message) {
      if (term.messages === 0 && (origin === USER || origin === RESULT)) patternCounts[term.pattern]! += 1;
      if (origin === RESULT) resultTerms[message]! += 1;
      if ((origin === SAY || origin === CALL) && term.lastMessage >= 0) term.wasReused = true;
      term.counts[origin]! += 1;
      term.last[origin] = message;
    }
    if (term.lastMessage !== message) term.messages += 1;
    term.lastMessage = message;
    term.lines += 1;
    if (isError) term.wasError = true;
    if (isKey(text, end)) term.keys += 1;
    if (isValue(text, start)) term.values += 1;
    if (term.lastFragment !== fragments.length) termIds.push(id);
    term.lastFragment = fragments.length;
  };
  function* add(message: number, origin: number, text: string, isError: boolean): Sliced<void> {
    for (const [start, end] of piecesOf(text)) {
      const firstTerm = termIds.length;
      scanTerms(text, start, end, (word, from, to) => note(text, word, from, to, message, origin, isError));
      const size = estimateTokens(text, start, end) + 1;
      tokens += size;
      fragments.push({ message, origin, text, start, end, tokens: size, firstTerm, endTerm: termIds.length });
      unread -= end - start;
      if (unread <= 0) {
        unread = CHARS_A_SLICE;
        yield;
      }
    }
  }
  for (let at = 0; at < messages.length; at += 1) {
    const { role, content, toolCalls = [], isError = false } = messages[at] as Message;
    tokensBefore.push(tokens);
    if (role === 'user') lastUser = at;
    yield* add(at, role === 'user' ? USER : role === 'tool' ? RESULT : SAY, content, isError);
    for (const call of toolCalls) yield* add(at, CALL, `${call.name} ${renderArguments(call.arguments)}`, false);
  }
  return { messages, terms, fragments, termIds, patternCounts, tokensBefore, tokens, resultTerms, lastUser, known };
}

/** Splits a text into lines, and long lines into pieces that end at a space or a comma. */
function* piecesOf(text: string): Generator<readonly [number, number]> {
  let start = 0;
  while (start < text.length) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    let from = start;
    while (end - from > MAX_LINE) {
      let cut = from + MIN_PIECE;
      while (cut < from + MAX_LINE && text[cut] !== ',' && classOf(text.charCodeAt(cut)) !== SPACE) cut += 1;
      yield [from, cut + 1];
      from = cut + 1;
    }
    if (from < end) yield [from, end];
    start = end + 1;
  }
}

const isAssign = (unit: number): boolean => unit === 58 || unit === 61;
const isQuote = (unit: number): boolean => unit === 34 || unit === 39;

/** `key:`, `key=`, `"key":`. */
function isKey(text: string, end: number): boolean {
  const next = text.charCodeAt(end);
  return isAssign(next) || (isQuote(next) && text.charCodeAt(end + 1) === 58);
}

/** `: value`, `=value`, `: "value`. */
function isValue(text: string, start: number): boolean {
  const [one, two, three] = [text.charCodeAt(start - 1), text.charCodeAt(start - 2), text.charCodeAt(start - 3)];
  return isAssign(one) || (isAssign(two) && (one === 32 || one === 34)) || (one === 34 && two === 32 && isAssign(three));
}

/** Collapses runs of letters, keeps the number of digits: `gift_card_5634` → `a_a_0000`. */
function patternOf(term: string): string {
  let pattern = '', previous = -1;
  for (let at = 0; at < term.length; at += 1) {
    const kind = classOf(term.charCodeAt(at));
    if (kind !== previous || kind === DIGIT) pattern += kind === DIGIT ? '0' : kind === LOWER ? 'a' : kind === UPPER ? 'A' : term[at];
    previous = kind;
  }
  return pattern;
}

function renderArguments(text: string): string {
  const out: string[] = [];
  const walk = (value: unknown, key: string): void => {
    if (value === null || value === undefined) return;
    if (Array.isArray(value)) for (const item of value) walk(item, key);
    else if (typeof value === 'object') for (const [name, item] of Object.entries(value)) walk(item, name);
    else out.push(`${key}: ${String(value)}`);
  };
  try {
    walk(JSON.parse(text), '');
  } catch {
    return text;
  }
  return out.join(', ');
}

// ------------------------------------------------------------------------------------------------ worth
interface Shape { readonly lower: number; readonly upper: number; readonly digits: number; readonly underscores: number; readonly joiners: number; readonly humps: number; readonly startsUpper: boolean }

export function shapeOf(term: string): Shape {
  const n = [0, 0, 0, 0, 0, 0, 0, 0];
  let humps = 0, previous = -1;
  for (let at = 0; at < term.length; at += 1) {
    const kind = classOf(term.charCodeAt(at));
    n[kind]! += 1;
    if (kind === UPPER && previous === LOWER) humps += 1;
    previous = kind;
  }
  return { lower: n[LOWER]!, upper: n[UPPER]!, digits: n[DIGIT]!, underscores: n[UNDERSCORE]!, joiners: n[JOINER]!, humps, startsUpper: classOf(term.charCodeAt(0)) === UPPER };
}

export const FEATURES = ['bias', 'messages', 'calls', 'results', 'users', 'age', 'inCall', 'inResult', 'plain', 'capital', 'mixed', 'digits',
  'capitals', 'short', 'length', 'key', 'value', 'tokensAgo', 'tokensAgoOnce', 'nameSaid', 'nameCalled', 'lastRequest', 'userOnlyAge',
  'reused', 'error', 'crowd', 'logMessages', 'logTerms', 'alike', 'alikeInResult', 'digitsInResult', 'span'] as const;

export function writeFeatures(evidence: Evidence, term: Term, shape: Shape, out: Float64Array): void {
  const [user, say, call, result] = term.counts;
  const [total, count, length] = [evidence.messages.length, term.messages, term.text.length];
  const fromResult = result > 0 && user + say + call === 0 ? 1 : 0;
  const isName = shape.digits > 0 || shape.underscores > 0 || shape.humps > 0 || shape.joiners > 0;
  const age = Math.log1p(total - 1 - term.lastMessage);
  const ago = Math.log1p((evidence.tokens - (evidence.tokensBefore[term.lastMessage + 1] ?? evidence.tokens)) / 200);
  const alike = Math.log1p(evidence.patternCounts[term.pattern] as number);
  let at = 0;
  const put = (value: number | boolean): void => { out[at] = Number(value); at += 1; };
  put(1); put(Math.log(count)); put(Math.log1p(call)); put(Math.log1p(result)); put(Math.log1p(user)); put(age);
  put(call > 0); put(result > 0); put(shape.lower === length);
  put(shape.startsUpper && shape.upper === 1 && shape.lower === length - 1); put(shape.digits > 0 && shape.lower + shape.upper > 0);
  put(shape.digits === length); put(shape.upper > 1 && shape.lower === 0); put(length < 5); put(Math.log(length));
  put(term.keys / term.lines); put(term.values / term.lines); put(ago); put(count === 1 ? ago : 0);
  put(isName && say > 0); put(isName && call > 0); put(user > 0 && term.last[USER] === evidence.lastUser);
  put(user > 0 && say + call + result === 0 ? age : 0); put(term.wasReused); put(term.wasError);
  put(result > 0 ? Math.log1p(evidence.resultTerms[term.last[RESULT]] as number) : 0);
  put(Math.log(total) - 3.5); put(Math.log(evidence.terms.length) - 6.5); put(alike); put(fromResult * alike);
  put(fromResult === 1 && shape.digits === length); put(Math.log1p(term.lastMessage - term.first));
}

/**
 * Logistic weights in the order of FEATURES: first of a term's own features, then of the mean features of its peers.
 * score = own · x + peers · mean(x of peers). Fitted by work/train3.mjs on the 218 recordings of shared/traces (521 cuts,
 * 312,965 terms; families and cuts weigh the same; L2 20). AUC within a cut, families left out of the fit: 0.75–0.88.
 */
export const WEIGHTS: readonly number[] = [
  // own
  0, 0.015, 0.143, 0.006, 0.016, -0.346, 0.24, 0.16, 0, 0.046, -0.048, 0, 0.076, -0.033, 0.201, -0.332, 0.12, -0.114, -0.14, 0.432, 0.133, 0.155, -0.199, 0.141, -0.153, -0.182, -0, -0, 0.043, -0.128, -0.042, -0.247,
  // peers
  -1.07, -0.005, 0.137, 0.32, -0.114, 0.369, 0.01, 0.378, -0.609, 0.332, 0.488, 0.356, 0.192, -0.693, -0.112, -0.405, 0.74, -0.243, -0.244, -0.201, 0.292, 0.005, -0.14, 0.555, 0.031, -0.01, -0.27, 0.832, -0.143, -0.117, 0.493, -0.208,
];

/** Kind of a term, for the comparison with its peers. */
export function kindOf({ text }: Term, { lower, digits, underscores, joiners, humps }: Shape): number {
  if (lower === text.length) return text.length < 5 ? 0 : 1;
  if (joiners > 0) return text.includes('/') ? 2 : digits > 0 ? 3 : 4;
  if (digits === text.length) return 5;
  if (digits > 0) return underscores > 0 ? 6 : lower > 0 ? 7 : 8;
  return underscores > 0 ? 9 : humps > 0 ? 10 : 11;
}

const COUNT_STEPS = 9;
const PEER_GROUPS = 12 * COUNT_STEPS;
const PEERS_SMOOTHING = 5;

/**
 * Returns the worth of each term: p(used next) minus `strictness` times the mean p of its peers, the terms of the same
 * kind and about the same count in this source. The rule calibrates itself: a foreign source with lower p keeps as much.
 */
export function* worthOf(evidence: Evidence, weights: ArrayLike<number>, strictness: number): Sliced<Float64Array> {
  const { terms, known } = evidence;
  const own = new Float64Array(terms.length), peersOf = new Int32Array(terms.length).fill(-1);
  const offsets = new Float64Array(PEER_GROUPS), sizes = new Float64Array(PEER_GROUPS), sums = new Float64Array(PEER_GROUPS);
  const features = new Float64Array(FEATURES.length);
  for (let id = 0; id < terms.length; id += 1) {
    if (id % ITEMS_A_SLICE === 0) yield;
    const term = terms[id] as Term;
    if (known.has(term.text)) continue;
    const shape = shapeOf(term.text);
    writeFeatures(evidence, term, shape, features);
    const peers = (peersOf[id] = kindOf(term, shape) * COUNT_STEPS + Math.min(COUNT_STEPS - 1, Math.round(2 * Math.log2(term.messages))));
    sizes[peers]! += 1;
    for (let at = 0; at < features.length; at += 1) {
      own[id]! += (weights[at] as number) * features[at]!;
      offsets[peers]! += (weights[at + features.length] as number) * features[at]!;
    }
  }
  let sum = 0, size = 0;
  const chance = own.map((score, id) => {
    const peers = peersOf[id] as number;
    if (peers < 0) return 0;
    const p = 1 / (1 + Math.exp(-score - offsets[peers]! / sizes[peers]!));
    sums[peers]! += p; sum += p; size += 1;
    return p;
  });
  const mean = sum / Math.max(1, size);
  return chance.map((p, id) => {
    const peers = peersOf[id] as number;
    return peers < 0 ? 0 : p - (strictness * (sums[peers]! + PEERS_SMOOTHING * mean)) / (sizes[peers]! + PEERS_SMOOTHING);
  });
}

// ------------------------------------------------------------------------------------------------ choice
/** Tokens of `[user] `, `→ ` or `[tool] ` before the first fragment of a message. */
const HEAD_TOKENS = 3;

export interface Choice { readonly chosen: Uint8Array; readonly opened: Uint8Array; tokens: number }

export function newChoice(evidence: Evidence): Choice {
  return { chosen: new Uint8Array(evidence.fragments.length), opened: new Uint8Array(evidence.messages.length), tokens: 0 };
}

export function take(evidence: Evidence, choice: Choice, id: number): void {
  if (choice.chosen[id] === 1) return;
  const { message, tokens } = evidence.fragments[id] as Fragment;
  choice.chosen[id] = 1;
  choice.tokens += tokens + (choice.opened[message] === 1 ? 0 : HEAD_TOKENS);
  choice.opened[message] = 1;
}

/** Takes users' words, boilerplate once, up to `users` tokens, and then the newest rounds up to `tail` tokens. */
export function forceParts(evidence: Evidence, choice: Choice, users: number, tail: number): void {
  const { fragments, messages } = evidence;
  const idsOf: number[][] = messages.map(() => []);
  fragments.forEach(({ message }, id) => (idsOf[message] as number[]).push(id));
  const seen = new Set<string>();
  const parts = messages.keys().filter((at) => messages[at]?.role === 'user').map((at) => (idsOf[at] as number[]).filter((id) => {
    const { text, start, end } = fragments[id] as Fragment;
    const line = text.slice(start, end).trim();
    const isNew = line.length <= 20 || !seen.has(line);
    seen.add(line);
    return isNew;
  })).toArray();
  const sizes = parts.map((ids) => ids.reduce((sum, id) => sum + fragments[id]!.tokens, HEAD_TOKENS));
  const limit = levelOf(sizes, users);
  parts.forEach((ids, at) => takeEnds(evidence, choice, ids, (sizes[at] as number) <= limit ? Number.POSITIVE_INFINITY : limit));
  let left = tail;
  for (let end = messages.length - 1; end >= 0; end -= 1) {
    let start = end;
    while (start > 0 && messages[start]?.role === 'tool') start -= 1;
    const ids = idsOf.slice(start, end + 1).flat().filter((id) => choice.chosen[id] === 0);
    const sizeOf = (some: number[]): number => some.reduce((sum, id) => sum + fragments[id]!.tokens, 0);
    // A round with large results keeps its words and calls. Its results compete by worth with everything else.
    const part = sizeOf(ids) <= left ? ids : ids.filter((id) => fragments[id]!.origin !== RESULT);
    left -= sizeOf(part);
    if (left < 0) return;
    for (const id of part) take(evidence, choice, id);
    end = start;
  }
}

/** Largest size per message with which all messages together stay within `cap`: the longest are clipped first. */
function levelOf(sizes: readonly number[], cap: number): number {
  let left = cap;
  const ascending = sizes.toSorted((a, b) => a - b);
  for (let at = 0; at < ascending.length; at += 1) {
    const share = left / (ascending.length - at);
    if ((ascending[at] as number) > share) return share;
    left -= ascending[at] as number;
  }
  return Number.POSITIVE_INFINITY;
}

/** Takes fragments from both ends of a message, up to `limit` tokens. */
function takeEnds(evidence: Evidence, choice: Choice, ids: readonly number[], limit: number): void {
  let left = limit;
  for (let head = 0, tail = ids.length - 1, isHead = true; head <= tail; isHead = !isHead) {
    const id = ids[isHead ? head : tail] as number;
    left -= evidence.fragments[id]!.tokens;
    if (left < 0) return;
    take(evidence, choice, id);
    if (isHead) head += 1;
    else tail -= 1;
  }
}

/** Share of the budget that is filled even if no fragment adds worth. */
const FILL = 0.75;

/**
 * Adds fragments by worth of new terms per token, while the budget lasts. Gains are exact: an inverted index updates the
 * fragments of a term when it is covered, so each (term, fragment) pair is touched once.
 */
export function* chooseFragments(evidence: Evidence, worth: Float64Array, budget: number, choice: Choice): Sliced<void> {
  const { fragments, termIds, terms, messages } = evidence;
  const starts = new Int32Array(terms.length + 1);
  for (const id of termIds) starts[id + 1]! += 1;
  for (let id = 0; id < terms.length; id += 1) starts[id + 1]! += starts[id]!;
  const places = new Int32Array(termIds.length), next = starts.slice();
  const gains = new Float64Array(fragments.length), keys = new Float64Array(fragments.length), covered = new Uint8Array(terms.length);
  for (let id = 0; id < fragments.length; id += 1) {
    if (id % ITEMS_A_SLICE === 0) yield;
    for (let at = fragments[id]!.firstTerm; at < fragments[id]!.endTerm; at += 1) {
      const term = termIds[at] as number;
      places[next[term]!++] = id;
      gains[id]! += worth[term]!;
    }
  }
  const costOf = (id: number): number => fragments[id]!.tokens + (choice.opened[fragments[id]!.message] === 1 ? 0 : HEAD_TOKENS);
  // Without gain, the newest fragments and the agent's own come first.
  const idle = (id: number): number => 3 - fragments[id]!.message / messages.length - ([0, 1, 0.7, 0][fragments[id]!.origin] as number);
  const keyOf = (id: number): number => gains[id]! > 1e-9 ? gains[id]! / costOf(id) : (gains[id]! - 1e-6 * idle(id)) * costOf(id) ** 0.3;
  const heap = new Heap();
  const cover = (id: number): void => {
    for (let at = fragments[id]!.firstTerm; at < fragments[id]!.endTerm; at += 1) {
      const term = termIds[at] as number;
      if (covered[term] === 1) continue;
      covered[term] = 1;
      for (let place = starts[term]!; place < starts[term + 1]!; place += 1) {
        const other = places[place] as number;
        gains[other]! -= worth[term]!;
        if (worth[term]! < 0 && choice.chosen[other] === 0) heap.push((keys[other] = keyOf(other)), other);
      }
    }
  };
  for (let id = 0; id < fragments.length; id += 1) if (choice.chosen[id] === 1) cover(id);
  heap.clear();
  for (let id = 0; id < fragments.length; id += 1) {
    if (id % ITEMS_A_SLICE === 0) yield;
    if (choice.chosen[id] === 0) heap.push((keys[id] = keyOf(id)), id);
  }
  for (let steps = 1; heap.size > 0; steps += 1) {
    if (steps % ITEMS_A_SLICE === 0) yield;
    const [key, id] = heap.pop();
    if (choice.chosen[id] === 1 || key !== keys[id]) continue;
    const now = keyOf(id);
    if (now < key - 1e-12) heap.push((keys[id] = now), id);
    else if (key <= 0 && choice.tokens >= FILL * budget) return;
    else if (choice.tokens + costOf(id) <= budget) {
      take(evidence, choice, id);
      cover(id);
    }
  }
}

class Heap {
  readonly #keys: number[] = [];
  readonly #ids: number[] = [];
  get size(): number { return this.#keys.length; }
  clear(): void { this.#keys.length = 0; this.#ids.length = 0; }
  push(key: number, id: number): void {
    const [keys, ids] = [this.#keys, this.#ids];
    let at = keys.push(key) - 1;
    ids.push(id);
    for (let up = (at - 1) >> 1; at > 0 && keys[up]! < key; at = up, up = (at - 1) >> 1) { keys[at] = keys[up]!; ids[at] = ids[up]!; }
    keys[at] = key; ids[at] = id;
  }
  pop(): [number, number] {
    const [keys, ids] = [this.#keys, this.#ids];
    const top: [number, number] = [keys[0]!, ids[0]!];
    const [key, id] = [keys.pop()!, ids.pop()!];
    if (keys.length === 0) return top;
    let at = 0;
    for (let down = 1; down < keys.length; at = down, down = 2 * at + 1) {
      if (down + 1 < keys.length && keys[down + 1]! > keys[down]!) down += 1;
      if (keys[down]! <= key) break;
      keys[at] = keys[down]!; ids[at] = ids[down]!;
    }
    keys[at] = key; ids[at] = id;
    return top;
  }
}

// ------------------------------------------------------------------------------------------------ text
const HEADS = ['[user] ', '[assistant] ', '→ ', '⇒ '];

/** Renders the chosen fragments of messages `from … to − 1`, in the order of events. */
export function renderRange({ fragments }: Evidence, { chosen }: Choice, from: number, to: number): string {
  const lines: string[] = [];
  let last: Fragment | undefined, lastId = -1;
  fragments.forEach((fragment, id) => {
    if (chosen[id] === 0 || fragment.message < from || fragment.message >= to) return;
    const piece = fragment.text.slice(fragment.start, fragment.end);
    const isNew = last?.message !== fragment.message || last.origin !== fragment.origin || last.text !== fragment.text;
    if (isNew) lines.push(HEADS[fragment.origin] + piece.trim());
    else if (lastId === id - 1 && last?.end === fragment.start) lines.push(lines.pop() + piece);
    else lines.push(piece.trimEnd());
    [last, lastId] = [fragment, id];
  });
  return lines.join('\n');
}

export interface Shares { readonly users: number; readonly tail: number; readonly strictness: number }
export const SHARES: Shares = { users: 0.2, tail: 0.3, strictness: 0.85 };

/** Composes a context of at most `budget` tokens by the exact count. */
export function* compose(evidence: Evidence, weights: ArrayLike<number>, budget: number, countTokens: (text: string) => number, shares = SHARES): Sliced<string> {
  const worth = yield* worthOf(evidence, weights, shares.strictness);
  let text = '', best = 0, target = budget, counted = evidence;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    yield;
    const choice = newChoice(counted);
    forceParts(counted, choice, shares.users * target, shares.tail * target);
    yield* chooseFragments(counted, worth, target, choice);
    const made = renderRange(counted, choice, 0, counted.messages.length);
    const tokens = countTokens(made);
    if (tokens <= budget && tokens > best) [text, best] = [made, tokens];
    if (tokens <= budget && tokens > (attempt > 2 ? 0.85 : 0.95) * budget) break;
    // The estimate is far off, e.g. for binary garbage: the chosen fragments are counted exactly.
    if (tokens > 1.2 * budget) counted = countChosen(counted, choice, countTokens);
    else target *= tokens > budget ? (0.985 * budget) / tokens : Math.min(2, (0.985 * budget) / Math.max(1, tokens));
  }
  return text;
}

const MAX_ATTEMPTS = 6;

function countChosen(evidence: Evidence, { chosen }: Choice, countTokens: (text: string) => number): Evidence {
  const count = (fragment: Fragment): Fragment => ({ ...fragment, tokens: countTokens(fragment.text.slice(fragment.start, fragment.end)) + 1 });
  return { ...evidence, fragments: evidence.fragments.map((fragment, id) => (chosen[id] === 1 ? count(fragment) : fragment)) };
}
