import type { Message } from '../../src/domain/message.ts';
import { holds, renderMessage } from '../../src/evaluation/quality/searchable-text.ts';
import { type LiveLimits, playContext } from './live-context.ts';
import { type BenchRecording, type Family, familyOf } from './points.ts';
import { answerability, Questions } from './quality/answers/questions.ts';
import type { Grades } from './quality/answers/topic.ts';
import type { Corpus } from './quality/corpus.ts';
import { findNeedles } from './quality/needles.ts';
import { type Row, renderContext, sumTokens } from './row.ts';

/** Ranges of passes, each with its name and its last number. */
export const DEPTHS = [
  ['1', 1],
  ['2', 2],
  ['3–4', 4],
  ['5–9', 9],
  ['10+', Infinity],
] as const;
export type Depth = (typeof DEPTHS)[number][0];

/** A needle of one pass. */
export interface DeepNeedle {
  /** Passes since a message last held the needle, the pass itself included. */
  readonly depth: Depth;
  readonly isKept: boolean;
}

/** A context that one pass of a conversation made, measured. */
export interface DeepPass {
  readonly conversation: string;
  readonly family: Family;
  /** From 1. */
  readonly number: number;
  readonly isLast: boolean;
  readonly grades: Grades;
  readonly answers: number | undefined;
  readonly needles: readonly DeepNeedle[];
}

/** All conversations that a row compacted again and again. */
export interface DeepRun {
  readonly row: string;
  readonly passes: readonly DeepPass[];
  readonly infeasible: number;
  /** Summaries that the pass which wrote them left out again. */
  readonly lostSummaries: number;
}

/** Conversations below this many times the threshold have no pass, or one. */
const MIN_LENGTH = 1.5;

export function isLongEnough({ messages }: Pick<BenchRecording, 'messages'>, { tokenThreshold }: LiveLimits): boolean {
  return sumTokens(withoutSystem(messages)) >= MIN_LENGTH * tokenThreshold;
}

/** Plays one conversation under a row, and measures the context of each pass against the whole log before it. */
export async function measureDepth(
  row: Row,
  recording: BenchRecording,
  { corpus, limits }: { readonly corpus: Corpus; readonly limits: LiveLimits },
): Promise<DeepRun> {
  const { id, group, messages } = recording;
  const log = new SeenTexts(recording, corpus);
  const places: number[] = [];
  const measured: Omit<DeepPass, 'isLast'>[] = [];
  let [infeasible, lostSummaries] = [0, 0];
  const at = messages.flatMap(({ role }, index) => (role === 'system' ? [] : [index]));
  await playContext(row, withoutSystem(messages), limits, (pass, before) => {
    if (pass.kind === 'infeasible') infeasible += 1;
    if (pass.kind !== 'version') return;
    if (pass.isSummaryLost) lostSummaries += 1;
    const cut = at[before] as number;
    places.push(cut);
    const text = renderContext(pass.context);
    const grades = new Questions(recording, cut).grade(text);
    const needles = log.findNeedles(cut, places).map(({ needle, depth }) => ({ depth, isKept: holds(text, needle) }));
    const place = { conversation: id, family: familyOf(group), number: places.length };
    measured.push({ ...place, grades, answers: answerability(grades), needles });
  });
  const passes = measured.map((pass, index) => ({ ...pass, isLast: index === measured.length - 1 }));
  return { row: row.name, passes, infeasible, lostSummaries };
}

/** Finds where a conversation last held the needles of its passes. */
class SeenTexts {
  readonly #recording: BenchRecording;
  readonly #corpus: Corpus;
  readonly #rendered: readonly string[];

  constructor(recording: BenchRecording, corpus: Corpus) {
    this.#recording = recording;
    this.#corpus = corpus;
    this.#rendered = recording.messages.map((message) => (message.role === 'system' ? '' : renderMessage(message)));
  }

  findNeedles(cut: number, passes: readonly number[]): { readonly needle: string; readonly depth: Depth }[] {
    const { messages, group } = this.#recording;
    const needles = findNeedles(messages, cut, {
      isCommon: (identifier) => this.#corpus.isCommon(identifier, group),
      isRareWord: (word) => this.#corpus.isRareWord(word),
    });
    const source = this.#rendered.slice(0, cut);
    return needles.map(({ text }) => {
      const seen = source.findLastIndex((one) => holds(one, text));
      return { needle: text, depth: nameDepth(passes.filter((pass) => pass > seen).length) };
    });
  }
}

/** @param passes from 1 */
export function nameDepth(passes: number): Depth {
  return (DEPTHS.find(([, last]) => passes <= last) ?? DEPTHS[0])[0];
}

function withoutSystem(messages: readonly Message[]): Message[] {
  return messages.filter(({ role }) => role !== 'system');
}
