import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Message } from '../../src/domain/message.ts';
import { renderMessage } from '../../src/evaluation/quality/searchable-text.ts';
import { readConversationLine } from '../../src/wire/histories/conversation-line.ts';
import { loadTokenCounter } from '../../src/wire/tokens/token-counter.ts';
import { Questions } from './quality/answers/questions.ts';
import { Corpus, type Recording } from './quality/corpus.ts';
import { findCuts, findPoint, type QualityPoint } from './quality/point.ts';
import { QualityScorer } from './quality/score.ts';

/** Folder of recordings beside the project: JSONL files with one conversation per line. */
const FOLDER = new URL('../../../shared/traces/', import.meta.url);
/** Fewer needles say nothing about a context. */
const MIN_NEEDLES = 5;

/** Kind of work, by the name of the file. Means are taken over the points of a family, then over the families. */
export const FAMILIES = ['service', 'shell', 'coding', 'chat', 'web', 'other'] as const;
export type Family = (typeof FAMILIES)[number];

const FAMILY_OF: readonly (readonly [RegExp, Family])[] = [
  [/^tau|^fhir|^service/, 'service'],
  [/^browser|^research/, 'web'],
  [/miniswe|sweagent/, 'shell'],
  [/^coding/, 'coding'],
  [/^chat/, 'chat'],
];

const counter = await loadTokenCounter('o200k_base');

export function countTokens(text: string): number {
  return counter.countSync(text);
}

/** Keeps the first and the last `half` tokens of a longer text. */
export async function clipMiddle(text: string, half: number): Promise<string> {
  if (countTokens(text) <= 2 * half) return text;
  return `${await counter.clipStart(text, half)} … ${await counter.clipEnd(text, half)}`;
}

/** A cut of a recording with everything that depends on the source alone. */
export interface BenchPoint {
  readonly point: QualityPoint;
  readonly scorer: QualityScorer;
  readonly questions: Questions;
  readonly family: Family;
  /** Tokens of the source. */
  readonly tokens: number;
}

/** A summary that a model wrote when the conversation was recorded. */
export interface RecordedSummary {
  readonly text: string;
  /** Index of the first message after the compaction that wrote it. */
  readonly cut: number;
}

/** A recorded conversation with the summaries that models wrote while it was recorded. */
export interface BenchRecording extends Recording {
  readonly summaries: readonly RecordedSummary[];
}

interface RecordedLine {
  readonly id: string;
  readonly meta?: { readonly compactions?: readonly { readonly summary: string; readonly atMessage: number }[] };
}

/** @param folder other recordings than those beside the project, e.g. held-out ones. Ends with a slash. */
export function readRecordings(folder: URL = FOLDER): BenchRecording[] {
  if (!existsSync(folder))
    throw new Error(`no recordings in ${folder.pathname}: place JSONL files there, one conversation per line`);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) =>
      readFileSync(new URL(name, folder), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line, index) => readRecording(line, { index, group: name.replace(/\.jsonl$/, '') })),
    );
}

function readRecording(
  line: string,
  { index, group }: { readonly index: number; readonly group: string },
): BenchRecording {
  const { id, meta } = JSON.parse(line) as RecordedLine;
  const { messages } = readConversationLine(line, index + 1);
  const summaries = (meta?.compactions ?? []).map(({ summary, atMessage }) => ({ text: summary, cut: atMessage }));
  return { id, group, messages, summaries };
}

/**
 * Yields the points of recordings whose family is chosen. Identifiers are common or rare among all recordings.
 * @param families all if empty
 */
export function* findPoints(
  recordings: readonly BenchRecording[],
  families: readonly Family[] = FAMILIES,
): Generator<BenchPoint> {
  const corpus = new Corpus(recordings);
  for (const recording of recordings) {
    if (!families.includes(familyOf(recording.group))) continue;
    for (const cut of findCuts(recording.messages, recording.messages.map(sizeOf))) {
      const bench = preparePoint(recording, cut, corpus);
      if (bench.point.needles.length >= MIN_NEEDLES) yield bench;
    }
  }
}

export function preparePoint(recording: Recording, cut: number, corpus: Corpus): BenchPoint {
  const point = findPoint(recording, cut, corpus);
  const tokens = countTokens(point.sourceText);
  const questions = new Questions(recording, cut);
  return { point, scorer: new QualityScorer(point), questions, family: familyOf(recording.group), tokens };
}

export function familyOf(group: string): Family {
  return FAMILY_OF.find(([pattern]) => pattern.test(group))?.[1] ?? 'other';
}

function sizeOf(message: Message): number {
  return message.role === 'system' ? 0 : countTokens(renderMessage(message));
}
