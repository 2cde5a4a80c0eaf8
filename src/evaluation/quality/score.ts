import type { Message } from '../../domain/message.ts';
import { findIdentifiers, findPlainWords } from './identifiers.ts';
import { findAnchors, isAnchored, type Needle, type QualityPoint } from './needles.ts';
import { holds } from './searchable-text.ts';

/** Shares from 0 to 1. Undefined if the point has no needle of that kind. */
export interface QualityScore {
  /** Needles that the context holds, literally. */
  readonly recall: number;
  /** Among needles of at most two messages of the source. */
  readonly rare: number | undefined;
  /** Among needles that only the oldest 60 % of the source hold, and no user message. */
  readonly far: number | undefined;
  /** Among needles that the agent uses in an argument. */
  readonly inArguments: number | undefined;
  /** Identifiers kept that the agent uses, minus similar identifiers kept that it never uses again: judgement, not density. */
  readonly selectivity: number | undefined;
  /** Needles that stand beside words they stood beside in the source. */
  readonly anchored: number;
  /** Plain words of the users that the context holds. */
  readonly userWords: number | undefined;
  /** Characters that belong to identifiers. */
  readonly density: number;
  /** Identifiers of the context that the source does not hold. */
  readonly invented: number;
}

/** Scores contexts of one point. The source is read once. */
export class QualityScorer {
  readonly #point: QualityPoint;
  readonly #anchors: ReadonlyMap<Needle, ReadonlySet<string>>;
  readonly #identifiers: ReadonlySet<string>;
  readonly #userWords: ReadonlySet<string>;

  constructor(point: QualityPoint) {
    this.#point = point;
    this.#anchors = new Map(point.needles.map((needle) => [needle, findAnchors(point.sourceText, needle.text)]));
    this.#identifiers = new Set(findIdentifiers(point.sourceText).keys());
    this.#userWords = new Set(point.source.flatMap(wordsOfUser));
  }

  /** @param context the whole context as one text: `renderMessages` */
  score(context: string): QualityScore {
    const { needles, controls, sourceText } = this.#point;
    const kept = new Set(needles.filter(({ text }) => holds(context, text)));
    const recallOf = (isCounted: (needle: Needle) => boolean): number | undefined => {
      const counted = needles.filter(isCounted);
      return shareOf(counted.filter((needle) => kept.has(needle)).length, counted.length);
    };
    const ofIdentifiers = recallOf(({ kind }) => kind !== 'word');
    const ofControls = shareOf(controls.filter((text) => holds(context, text)).length, controls.length);
    const words = findPlainWords(context);
    const identifiers = [...findIdentifiers(context).keys()];
    const invented = identifiers.filter((text) => !this.#identifiers.has(text) && !holds(sourceText, text));
    const anchored = [...kept].filter((needle) =>
      isAnchored(context, needle.text, this.#anchors.get(needle) ?? new Set()),
    );
    return {
      recall: recallOf(() => true) ?? 0,
      rare: recallOf(({ messages }) => messages <= 2),
      far: recallOf(({ age, isFromUser }) => age > 0.4 && !isFromUser),
      inArguments: recallOf(({ isInArgument }) => isInArgument),
      selectivity: ofIdentifiers === undefined || ofControls === undefined ? undefined : ofIdentifiers - ofControls,
      anchored: shareOf(anchored.length, needles.length) ?? 0,
      userWords: shareOf([...this.#userWords].filter((word) => words.has(word)).length, this.#userWords.size),
      density: densityOf(context),
      invented: shareOf(invented.length, identifiers.length) ?? 0,
    };
  }

  /** Guards that a context breaks. @param rounds whole context, in order */
  guards(score: QualityScore, rounds: readonly Message[]): string[] {
    const broken: string[] = [];
    if (!areRoundsWhole(rounds)) broken.push('rounds');
    if (score.recall > 0 && score.anchored / score.recall < MIN_ANCHORED) broken.push('anchored');
    if (score.density > Math.max(2 * densityOf(this.#point.sourceText), MAX_DENSITY)) broken.push('density');
    if (score.invented > MAX_INVENTED) broken.push('invented');
    return broken;
  }
}

const MIN_ANCHORED = 0.2;
const MAX_DENSITY = 0.4;
const MAX_INVENTED = 0.12;
const IDENTIFIER_LIKE = /[\w.@/#$-]*[\d_/@#$][\w.@/#$-]*/g;

function wordsOfUser({ role, content }: Message): string[] {
  return role === 'user' ? [...findPlainWords(content)] : [];
}

function densityOf(text: string): number {
  let characters = 0;
  for (const [match] of text.matchAll(IDENTIFIER_LIKE)) characters += match.length;
  return shareOf(characters, text.length) ?? 0;
}

/** Checks that each call has its result and each result its call. */
function areRoundsWhole(messages: readonly Message[]): boolean {
  const open = new Set<string>();
  for (const { toolCalls = [], toolCallId } of messages) {
    for (const { id } of toolCalls) open.add(id);
    if (toolCallId !== undefined && !open.delete(toolCallId)) return false;
  }
  return open.size === 0;
}

function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}
