/**
 * Recall by words in Chinese, Japanese and Spanish: `node bench/context/segments.ts [--budget 0.2] [--out FILE]`.
 *
 * The needles of the main table are identifiers and words of Latin letters, so they miss most of what a conversation in
 * these languages says. Here a needle is a word of `Intl.Segmenter` which the assistant first uses in the next 40
 * messages, and which occurs before the cut.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Message } from '../../src/domain/message.ts';
import { renderMessage } from '../../src/evaluation/quality/searchable-text.ts';
import { BASELINES } from './baselines.ts';
import { LADDERS } from './ladder-rows.ts';
import { maxTokensOf, meanOf } from './measure.ts';
import { type BenchRecording, countTokens, preparePoint, readRecordings } from './points.ts';
import { Corpus } from './quality/corpus.ts';
import { findCuts } from './quality/point.ts';
import { type Row, renderContext } from './row.ts';

/** Recordings by group, with their language. */
const LANGUAGES = { service_crosswoz: 'zh', chat_jmultiwoz: 'ja', service_es: 'es' } as const;
type Group = keyof typeof LANGUAGES;

/** Minimum characters of a needle. Shorter words are grammar, or parts of a name. */
const MIN_CHARS = { zh: 2, ja: 2, es: 5 } as const;
/** A word in a larger share of a group's recordings belongs to the task, not to one conversation. */
const MAX_SHARE = 0.5;
const HORIZON = 40;
const MIN_NEEDLES = 5;
const ROWS = ['window', 'mask', 'turnfold summary', 'turnfold'];

class Words {
  readonly #segmenter: Intl.Segmenter;
  readonly #minChars: number;

  constructor(group: Group) {
    const language = LANGUAGES[group];
    this.#segmenter = new Intl.Segmenter(language, { granularity: 'word' });
    this.#minChars = MIN_CHARS[language];
  }

  of(text: string): Set<string> {
    const words = new Set<string>();
    for (const { segment, isWordLike } of this.#segmenter.segment(text))
      if (isWordLike === true && segment.length >= this.#minChars) words.add(segment);
    return words;
  }
}

/** Counts the recordings with each word. */
function countRecordings(recordings: readonly BenchRecording[], words: Words): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { messages } of recordings) {
    const own = words.of(messages.map(renderMessage).join('\n'));
    for (const word of own) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

interface NeedleSource {
  readonly words: Words;
  readonly isCommon: (word: string) => boolean;
}

/** Words that the assistant first uses after the cut, and could know only from the messages before the cut. */
function findNeedles(messages: readonly Message[], cut: number, { words, isCommon }: NeedleSource): string[] {
  const textOf = (wanted: (message: Message) => boolean, end: number): string =>
    messages.slice(0, end).filter(wanted).map(renderMessage).join('\n');
  const system = textOf(({ role }) => role === 'system', messages.length);
  const source = words.of(textOf(({ role }) => role !== 'system', cut));
  const seen = new Set<string>();
  const needles: string[] = [];
  for (const message of messages.slice(cut, cut + HORIZON)) {
    for (const word of words.of(renderMessage(message))) {
      if (seen.has(word)) continue;
      seen.add(word);
      const isNeedle = message.role === 'assistant' && source.has(word) && !isCommon(word) && !system.includes(word);
      if (isNeedle) needles.push(word);
    }
  }
  return needles;
}

interface Measured {
  readonly row: string;
  readonly group: string;
  /** Share of the needles in the context. Undefined without a context of that size. */
  readonly recall: number | undefined;
  readonly fill: number;
}

async function measure(row: Row, bench: ReturnType<typeof preparePoint>, needles: readonly string[], budget: number) {
  const maxTokens = maxTokensOf(budget, bench.tokens) ?? budget;
  const context = await row.compact(bench, maxTokens);
  const text = context === undefined ? undefined : renderContext(context);
  const recall = text === undefined ? undefined : needles.filter((word) => text.includes(word)).length / needles.length;
  const fill = text === undefined ? 0 : countTokens(text) / maxTokens;
  return { row: row.name, group: bench.point.recording.group, recall, fill, maxTokens, text };
}

const { values } = parseArgs({ options: { budget: { type: 'string', default: '0.2' }, out: { type: 'string' } } });
const budget = Number(values.budget);
const rows = [...BASELINES, ...LADDERS].filter(({ name }) => ROWS.includes(name));
const all = readRecordings();
const corpus = new Corpus(all);
const measured: Measured[] = [];
const contexts: string[] = [];
for (const group of Object.keys(LANGUAGES) as Group[]) {
  const recordings = all.filter((recording) => recording.group === group);
  const words = new Words(group);
  const counts = countRecordings(recordings, words);
  const isCommon = (word: string): boolean => (counts.get(word) ?? 0) > Math.max(2, MAX_SHARE * recordings.length);
  for (const recording of recordings) {
    const { messages } = recording;
    const sizes = messages.map((message) => (message.role === 'system' ? 0 : countTokens(renderMessage(message))));
    for (const cut of findCuts(messages, sizes)) {
      const needles = findNeedles(messages, cut, { words, isCommon });
      if (needles.length < MIN_NEEDLES) continue;
      const bench = preparePoint(recording, cut, corpus);
      for (const row of rows) {
        const one = await measure(row, bench, needles, budget);
        measured.push(one);
        if (values.out !== undefined) contexts.push(JSON.stringify({ id: recording.id, cut, needles, ...one }));
      }
    }
  }
}
if (values.out !== undefined) writeFileSync(values.out, contexts.join('\n'));
for (const { name } of rows) {
  const own = measured.filter(({ row }) => row === name);
  const groups = Object.keys(LANGUAGES).map((group) => {
    const points = own.filter((one) => one.group === group);
    const made = points.flatMap(({ recall }) => recall ?? []);
    const counted = points.map(({ recall = 0 }) => recall);
    return `${group} n ${points.length} recall ${(100 * meanOf(made)).toFixed(1)} (0 if infeasible ${(100 * meanOf(counted)).toFixed(1)}) infeasible ${points.length - made.length} fill ${(100 * meanOf(points.map(({ fill }) => fill))).toFixed(0)}`;
  });
  console.log([name.padEnd(18), ...groups].join('\n  '));
}
