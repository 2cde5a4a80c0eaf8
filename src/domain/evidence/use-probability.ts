import { classOf, DIGIT, JOINER, LOWER, UNDERSCORE, UPPER } from './characters.ts';
import type { Part } from './fragments.ts';
import { type Ledger, lastOf, type Term } from './ledger.ts';
import { USE_WEIGHTS } from './use-weights.ts';

/** What is known about a term and counts for or against its use by the agent soon. */
const FEATURES = {
  /** Fewer when a term is as common as air. */
  logMessages: ({ messages }) => Math.log(messages),
  logUser: (term) => Math.log1p(term.messagesByPart.user),
  logStatement: (term) => Math.log1p(term.messagesByPart.statement),
  logCall: (term) => Math.log1p(term.messagesByPart.call),
  logResult: (term) => Math.log1p(term.messagesByPart.result),
  logLines: ({ occurrences, messages }) => Math.log(occurrences / messages),
  age: (term, ledger) => ageOf(lastOf(term), ledger),
  ageUser: (term, ledger) => ageOf(term.lastByPart.user, ledger),
  ageStatement: (term, ledger) => ageOf(term.lastByPart.statement, ledger),
  ageCall: (term, ledger) => ageOf(term.lastByPart.call, ledger),
  ageResult: (term, ledger) => ageOf(term.lastByPart.result, ledger),
  inUser: (term) => Number(term.messagesByPart.user > 0),
  inStatement: (term) => Number(term.messagesByPart.statement > 0),
  inCall: (term) => Number(term.messagesByPart.call > 0),
  inResultOnly: (term) => Number(isOnlyIn('result', term)),
  ageResultOnly: (term, ledger) => (isOnlyIn('result', term) ? ageOf(lastOf(term), ledger) : 0),
  inUserOnly: (term) => Number(isOnlyIn('user', term)),
  inStatementOnly: (term) => Number(isOnlyIn('statement', term)),
  firstSaidByUser: ({ firstPart }) => Number(firstPart === 'user'),
  firstShare: ({ first }, { messages }) => first / messages,
  inError: ({ isInError }) => Number(isInError),
  unread: (term, { lastAgent }) => Number(lastOf(term) > lastAgent),
  unreadOnce: (term, { lastAgent }) => Number(term.messages === 1 && lastOf(term) > lastAgent),
  superseded: (term, { superseded }) => Number(superseded.has(lastOf(term))),
  asKey: ({ asKey, occurrences }) => asKey / occurrences,
  asValue: ({ asValue, occurrences }) => asValue / occurrences,
  plain: ({ shape }) => Number(shape.isPlain),
  number: ({ shape }) => Number(shape.isNumber),
  mixed: ({ shape }) => Number(shape.hasDigitAndLetter),
  innerCapital: ({ shape }) => Number(shape.hasInnerCapital),
  underscore: ({ shape }) => Number(shape.hasUnderscore),
  joined: ({ shape }) => Number(shape.isJoined),
  path: ({ shape }) => Number(shape.isPath),
  ideographic: ({ shape }) => Number(shape.isIdeographic),
  logChars: ({ shape }) => Math.log(shape.chars),
  short: ({ shape }) => Number(shape.chars < 5),
  nameInCall: (term) => Number(isName(term) && term.messagesByPart.call > 0),
  nameInStatement: (term) => Number(isName(term) && term.messagesByPart.statement > 0),
  nameInResultOnly: (term) => Number(isName(term) && isOnlyIn('result', term)),
  numberOfAgent: (term) => Number(term.shape.isNumber && term.messagesByPart.call + term.messagesByPart.statement > 0),
  unreadNumber: (term, { lastAgent }) => Number(term.shape.isNumber && lastOf(term) > lastAgent),
  logSource: (_, { messages }) => Math.log(messages) - 3.5,
} satisfies Record<string, (term: Term, ledger: Ledger) => number>;

export type Feature = keyof typeof FEATURES;
export const FEATURE_NAMES = Object.keys(FEATURES) as Feature[];

export function featuresOf(term: Term, ledger: Ledger): number[] {
  return FEATURE_NAMES.map((name) => FEATURES[name](term, ledger));
}

/** Estimates how likely the agent uses each term in its next messages, from 0 to 1. */
export function estimateUse(term: Term, ledger: Ledger): number {
  let sum = USE_WEIGHTS.bias;
  for (const name of FEATURE_NAMES) {
    const weight = (USE_WEIGHTS.features as Partial<Record<Feature, number>>)[name];
    if (weight !== undefined) sum += weight * FEATURES[name](term, ledger);
  }
  return 1 / (1 + Math.exp(-sum));
}

/** Logarithm of the messages after this one. 0 if no message holds the term. */
function ageOf(message: number, { messages }: Ledger): number {
  return message < 0 ? 0 : Math.log1p(messages - 1 - message);
}

function isOnlyIn(part: Part, { messages, messagesByPart }: Term): boolean {
  return messagesByPart[part] === messages &&
    Object.values(messagesByPart).every((count) => count === 0 || count === messages)
    ? Object.values(messagesByPart).filter((count) => count > 0).length === 1
    : false;
}

/** An identifier by its shape, not a plain word. */
function isName({ shape }: Term): boolean {
  return shape.hasDigitAndLetter || shape.hasUnderscore || shape.hasInnerCapital || shape.isJoined || shape.isNumber;
}

/** A term is worth a place if its use is more likely than this multiple of the mean. Fitted: `scripts/fit-use-weights.ts`. */
const WORTH_OF_MEAN = 1.25;

const W = [
  0, 0.015, 0.143, 0.006, 0.016, -0.346, 0.24, 0.16, 0, 0.046, -0.048, 0, 0.076, -0.033, 0.201, -0.332, 0.12, -0.114,
  -0.14, 0.432, 0.133, 0.155, -0.199, 0.141, -0.153, -0.182, -0, -0, 0.043, -0.128, -0.042, -0.247, -1.07, -0.005,
  0.137, 0.32, -0.114, 0.369, 0.01, 0.378, -0.609, 0.332, 0.488, 0.356, 0.192, -0.693, -0.112, -0.405, 0.74, -0.243,
  -0.244, -0.201, 0.292, 0.005, -0.14, 0.555, 0.031, -0.01, -0.27, 0.832, -0.143, -0.117, 0.493, -0.208,
];
function patternOf(term: string): string {
  let pattern = '';
  let previous = -1;
  for (let at = 0; at < term.length; at += 1) {
    const kind = classOf(term.charCodeAt(at));
    if (kind !== previous || kind === DIGIT)
      pattern += kind === DIGIT ? '0' : kind === LOWER ? 'a' : kind === UPPER ? 'A' : term[at];
    previous = kind;
  }
  return pattern;
}
export function valueTerms(ledger: Ledger): Float64Array {
  const { terms, fragments, messages: total } = ledger;
  const S = 1;
  const patterns = new Map<string, number>();
  const pat = terms.map((t) => patternOf(t.text));
  terms.forEach((t, i) => {
    if (t.firstPart === 'user' || t.firstPart === 'result')
      patterns.set(pat[i] as string, (patterns.get(pat[i] as string) ?? 0) + 1);
  });
  const before = new Float64Array(total + 1);
  const resultTerms = Array.from({ length: total }, () => new Set<number>());
  let tokens = 0,
    msg = 0,
    lastUser = -1;
  for (const f of fragments) {
    while (msg <= f.message) {
      before[msg] = tokens;
      msg += 1;
    }
    tokens += f.text.length * 0.28 + 1;
    if (f.part === 'result') for (const t of f.terms) resultTerms[f.message]?.add(t);
    if (f.part === 'user') lastUser = f.message;
  }
  while (msg <= total) {
    before[msg] = tokens;
    msg += 1;
  }
  const n = 32;
  const own = new Float64Array(terms.length),
    group = new Int32Array(terms.length),
    off = new Float64Array(108),
    size = new Float64Array(108),
    sums = new Float64Array(108);
  terms.forEach((t, id) => {
    const { shape, messagesByPart: c, lastByPart: l, messages: count } = t;
    let lower = 0,
      upper = 0,
      digits = 0,
      under = 0,
      join = 0;
    for (let i = 0; i < t.text.length; i += 1) {
      const k = classOf(t.text.charCodeAt(i));
      if (k === LOWER) lower += 1;
      else if (k === UPPER) upper += 1;
      else if (k === DIGIT) digits += 1;
      else if (k === UNDERSCORE) under += 1;
      else if (k === JOINER) join += 1;
    }
    const length = t.text.length,
      last = lastOf(t);
    const fromResult = c.result > 0 && c.user + c.statement + c.call === 0 ? 1 : 0;
    const isN = digits > 0 || under > 0 || shape.hasInnerCapital || join > 0;
    const age = Math.log1p(total - 1 - last),
      ago = Math.log1p((tokens - (before[last + 1] ?? tokens)) / 200),
      alike = Math.log1p(patterns.get(pat[id] as string) ?? 0);
    const startsUpper = classOf(t.text.charCodeAt(0)) === UPPER;
    const x = [
      1,
      Math.log(count),
      Math.log1p(c.call),
      Math.log1p(c.result),
      Math.log1p(c.user),
      age,
      +(c.call > 0),
      +(c.result > 0),
      +(lower === length),
      +(startsUpper && upper === 1 && lower === length - 1),
      +(digits > 0 && lower + upper > 0),
      +(digits === length),
      +(upper > 1 && lower === 0),
      +(length < 5),
      Math.log(length),
      t.asKey / t.occurrences,
      t.asValue / t.occurrences,
      ago,
      count === 1 ? ago : 0,
      +(isN && c.statement > 0),
      +(isN && c.call > 0),
      +(c.user > 0 && l.user === lastUser),
      c.user > 0 && c.statement + c.call + c.result === 0 ? age : 0,
      +(Math.max(l.statement, l.call) > t.first),
      +t.isInError,
      c.result > 0 ? Math.log1p(resultTerms[l.result]?.size ?? 0) : 0,
      Math.log(total) - 3.5,
      Math.log(terms.length) - 6.5,
      alike,
      fromResult * alike,
      +(fromResult === 1 && digits === length),
      Math.log1p(last - t.first),
    ];
    const kind =
      lower === length
        ? length < 5
          ? 0
          : 1
        : join > 0
          ? t.text.includes('/')
            ? 2
            : digits > 0
              ? 3
              : 4
          : digits === length
            ? 5
            : digits > 0
              ? under > 0
                ? 6
                : lower > 0
                  ? 7
                  : 8
              : under > 0
                ? 9
                : shape.hasInnerCapital
                  ? 10
                  : 11;
    const g = kind * 9 + Math.min(8, Math.round(2 * Math.log2(count)));
    group[id] = g;
    size[g]! += 1;
    for (let k = 0; k < n; k += 1) {
      own[id]! += (W[k] as number) * (x[k] as number);
      off[g]! += (W[k + n] as number) * (x[k] as number);
    }
  });
  let sum = 0;
  const p = own.map((z, id) => {
    const g = group[id] as number;
    const v = 1 / (1 + Math.exp(-z - off[g]! / size[g]!));
    sums[g]! += v;
    sum += v;
    return v;
  });
  const mean = sum / Math.max(1, terms.length);
  return p.map((v, id) => {
    const g = group[id] as number;
    return v - (S * (sums[g]! + 5 * mean)) / (size[g]! + 5);
  });
}
