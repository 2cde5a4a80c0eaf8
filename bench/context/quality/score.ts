import type { Message } from '../../../src/domain/message.ts';
import {
  findIdentifiers,
  findPlainWords,
  hideIdentifiers,
  WORD_OR_NAME,
} from '../../../src/evaluation/quality/identifiers.ts';
import { findWhole, holds } from '../../../src/evaluation/quality/searchable-text.ts';
import type { Needle } from './needles.ts';
import type { QualityPoint } from './point.ts';

/** Score of a context. Shares are from 0 to 1. Undefined if the point has no needle of that kind. */
export interface QualityScore {
  /** Share of the needles that the context holds literally. */
  readonly recall: number;
  /** Recall of needles that at most two messages of the source hold. */
  readonly rare: number | undefined;
  /** Recall of needles that only the oldest 60 % of the source holds, and no user message. */
  readonly far: number | undefined;
  /** Recall of needles that the agent uses in an argument of a call. */
  readonly inArguments: number | undefined;
  /**
   * Selectivity (J): recall of identifiers minus the same share of the controls. A context that keeps everything
   * chooses nothing, and has 0.
   */
  readonly selectivity: number | undefined;
  /** Share of the needles that the context holds beside words of the source. */
  readonly anchored: number;
  /** Share of the users' plain words that the context holds. */
  readonly userWords: number | undefined;
  readonly density: number;
  /** Share of the context's identifiers that the source does not hold. */
  readonly invented: number;
}

export class QualityScorer {
  readonly sourceDensity: number;
  readonly #point: QualityPoint;
  readonly #anchors: ReadonlyMap<Needle, ReadonlySet<string>>;
  readonly #identifiers: ReadonlySet<string>;
  readonly #userWords: ReadonlySet<string>;

  constructor(point: QualityPoint) {
    const { needles, source, sourceText } = point;
    this.#point = point;
    this.sourceDensity = densityOf(sourceText);
    this.#anchors = new Map(needles.map((needle) => [needle, findAnchors(sourceText, needle.text)]));
    this.#identifiers = new Set(findIdentifiers(sourceText).keys());
    const users = source.filter(({ role }) => role === 'user');
    this.#userWords = new Set(users.flatMap(({ content }) => [...findPlainWords(content)]));
  }

  /** @param context the whole context as one text, without system messages: see `renderMessages` */
  score(context: string): QualityScore {
    const { needles, controls } = this.#point;
    const kept = new Set(needles.filter(({ text }) => holds(context, text)));
    const recallOf = (isCounted: (needle: Needle) => boolean): number | undefined => {
      const counted = needles.filter(isCounted);
      return shareOf(counted.filter((needle) => kept.has(needle)).length, counted.length);
    };
    const ofIdentifiers = recallOf(({ kind }) => kind !== 'word');
    const ofControls = shareOf(controls.filter((text) => holds(context, text)).length, controls.length);
    const anchored = [...kept].filter((needle) => this.#isAnchored(context, needle));
    const words = findPlainWords(context);
    return {
      recall: recallOf(() => true) ?? 0,
      rare: recallOf(({ messages }) => messages <= 2),
      far: recallOf(({ age, isFromUser }) => age > 0.4 && !isFromUser),
      inArguments: recallOf(({ isInArgument }) => isInArgument),
      selectivity: ofIdentifiers === undefined || ofControls === undefined ? undefined : ofIdentifiers - ofControls,
      anchored: shareOf(anchored.length, needles.length) ?? 0,
      userWords: shareOf(this.#userWords.intersection(words).size, this.#userWords.size),
      density: densityOf(context),
      invented: this.#inventedShare(context),
    };
  }

  #isAnchored(context: string, needle: Needle): boolean {
    return isAnchored(context, needle.text, this.#anchors.get(needle) ?? new Set());
  }

  #inventedShare(context: string): number {
    const identifiers = [...findIdentifiers(context).keys()];
    const invented = identifiers.filter((text) => !this.#identifiers.has(text) && !holds(this.#point.sourceText, text));
    return shareOf(invented.length, identifiers.length) ?? 0;
  }
}

/** Marks of an identifier. Dots and hyphens are left out, because they also end sentences and join plain words. */
const IDENTIFIER_MARK = /[\d_/@#$]/;

function densityOf(text: string): number {
  let characters = 0;
  for (const [run] of text.matchAll(WORD_OR_NAME)) {
    if (IDENTIFIER_MARK.test(run)) characters += run.length;
  }
  return shareOf(characters, text.length) ?? 0;
}

function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}

const MIN_ANCHORS = 2;
const MAX_PLACES = 12;
/** Maximum characters between an identifier and a word beside it. */
const SOURCE_REACH = 60;
const CONTEXT_REACH = 80;
const WORD = /\b[A-Za-z][a-z]{3,}\b/g;
const JSON_KEY = /"([A-Za-z_]+)"\s*:/g;
const MIN_KEY_PART_CHARS = 4;
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  (
    'this that with from have will your they been were what when which there their them then than into only also just some such ' +
    'more most over file line error true false null none text role user tool assistant'
  ).split(' '),
);

/** Finds words and JSON keys beside an identifier in the source, in lower case. */
function findAnchors(sourceText: string, identifier: string): Set<string> {
  const anchors = new Set<string>();
  for (const at of findWhole(sourceText, identifier).take(MAX_PLACES)) {
    for (const word of wordsAround(sourceText, at, { identifier, reach: SOURCE_REACH })) anchors.add(word);
  }
  return anchors;
}

function isAnchored(context: string, identifier: string, anchors: ReadonlySet<string>): boolean {
  const needed = Math.min(MIN_ANCHORS, anchors.size);
  return findWhole(context, identifier)
    .take(MAX_PLACES)
    .some((at) => {
      const near = wordsAround(context, at, { identifier, reach: CONTEXT_REACH });
      return near.intersection(anchors).size >= needed;
    });
}

function wordsAround(
  text: string,
  at: number,
  { identifier, reach }: { readonly identifier: string; readonly reach: number },
): Set<string> {
  const near = text.slice(Math.max(0, at - reach), at + identifier.length + reach);
  const words = new Set<string>();
  for (const [word] of hideIdentifiers(near.replaceAll(identifier, ' ')).matchAll(WORD)) {
    if (!EMPTY_WORDS.has(word.toLowerCase())) words.add(word.toLowerCase());
  }
  for (const [, key = ''] of near.matchAll(JSON_KEY)) {
    for (const part of key.split('_')) if (part.length >= MIN_KEY_PART_CHARS) words.add(part.toLowerCase());
  }
  return words;
}

/** Condition of a meaningful recall. If a guard is broken, the recall of the context does not count. */
export type Guard = 'budget' | 'rounds' | 'anchored' | 'density' | 'invented';

interface GuardedContext {
  readonly score: QualityScore;
  /** Share of the source's characters that belong to identifiers. */
  readonly sourceDensity: number;
  readonly tokens: number;
  readonly maxTokens: number;
  /** Messages of the context, in order. Empty for plain text, which has no calls. */
  readonly messages: readonly Message[];
}

const MIN_ANCHORED_SHARE = 0.2;
const MAX_DENSITY = 0.4;
const MAX_INVENTED = 0.12;

/** Finds the broken guards of a context. A list of all identifiers has a high recall, but breaks two guards. */
export function findBrokenGuards({ score, sourceDensity, tokens, maxTokens, messages }: GuardedContext): Guard[] {
  const broken: Readonly<Record<Guard, boolean>> = {
    budget: tokens > maxTokens,
    rounds: !areRoundsWhole(messages),
    anchored: score.recall > 0 && score.anchored / score.recall < MIN_ANCHORED_SHARE,
    density: score.density > Math.max(2 * sourceDensity, MAX_DENSITY),
    invented: score.invented > MAX_INVENTED,
  };
  return (Object.keys(broken) as Guard[]).filter((guard) => broken[guard]);
}

function areRoundsWhole(messages: readonly Message[]): boolean {
  const open = new Set<string>();
  for (const { toolCalls = [], toolCallId } of messages) {
    for (const { id } of toolCalls) open.add(id);
    if (toolCallId !== undefined && !open.delete(toolCallId)) return false;
  }
  return open.size === 0;
}
