import { findAnchors, isAnchored } from './anchors.ts';
import { findIdentifiers, findPlainWords, WORD_OR_NAME } from './identifiers.ts';
import type { Needle } from './needles.ts';
import type { QualityPoint } from './point.ts';
import { holds } from './searchable-text.ts';

/** Result of one context. All values are shares from 0 to 1, or undefined if the point has no needle of that kind. */
export interface QualityScore {
  /** Share of the needles that the context holds, literally. */
  readonly recall: number;
  /** Recall of the needles that at most two messages of the source hold. */
  readonly rare: number | undefined;
  /** Recall of the needles that only the oldest 60 % of the source holds, and no user message. */
  readonly far: number | undefined;
  /** Recall of the needles that the agent uses in an argument of a call. */
  readonly inArguments: number | undefined;
  /**
   * J: recall of the identifiers among the needles, minus the share of the controls that the context holds. A context
   * that keeps everything has 0, because it makes no choice.
   */
  readonly selectivity: number | undefined;
  /** Share of the needles that the context holds beside words of the source. */
  readonly anchored: number;
  /** Share of the users' plain words that the context holds. */
  readonly userWords: number | undefined;
  /** Share of the context's characters that belong to identifiers. */
  readonly density: number;
  /** Share of the context's identifiers that the source does not hold. */
  readonly invented: number;
}

/** Scores contexts of one point. The source is read once. */
export class QualityScorer {
  /** Share of the source's characters that belong to identifiers. */
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

/** Without dots and hyphens, which end sentences and join plain words. */
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
