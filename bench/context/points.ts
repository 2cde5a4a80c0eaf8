import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Message } from '../../src/domain/message.ts';
import { Corpus, type Recording } from '../../src/evaluation/quality/corpus.ts';
import { findCuts } from '../../src/evaluation/quality/cut-points.ts';
import { findPoint, type QualityPoint } from '../../src/evaluation/quality/point.ts';
import { QualityScorer } from '../../src/evaluation/quality/score.ts';
import { renderMessage } from '../../src/evaluation/quality/searchable-text.ts';
import { loadTokenCounter } from '../../src/tokens/token-counter.ts';
import { readConversationLine } from '../../src/wire/conversation-line.ts';

/** Folder of recordings, one conversation per line. */
const FOLDER = new URL('../../../shared/traces/', import.meta.url);
/** Fewer needles say nothing about a context. */
const MIN_NEEDLES = 5;

/** Kind of work. Means are taken over the points of a family, then over the families. */
export const FAMILIES = ['service', 'shell', 'coding', 'chat'] as const;
export type Family = (typeof FAMILIES)[number];

const FAMILY_OF: readonly (readonly [RegExp, Family])[] = [
  [/^tau/, 'service'],
  [/miniswe|sweagent/, 'shell'],
  [/^coding/, 'coding'],
  [/^chat/, 'chat'],
];

const counter = await loadTokenCounter('o200k_base');

export function countTokens(text: string): number {
  return counter.countSync(text);
}

/** A cut of a recording with everything that depends on the source alone. */
export interface BenchPoint {
  readonly point: QualityPoint;
  readonly scorer: QualityScorer;
  readonly family: Family;
  /** Tokens of the source. */
  readonly tokens: number;
}

export function readRecordings(): Recording[] {
  if (!existsSync(FOLDER))
    throw new Error(`no recordings in ${FOLDER.pathname}: place conversations there, one per line`);
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .flatMap((name) =>
      readFileSync(new URL(name, FOLDER), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line, index) => ({
          id: (JSON.parse(line) as { id: string }).id,
          group: name.replace(/\.jsonl$/, ''),
          messages: readConversationLine(line, index + 1).messages,
        })),
    );
}

/** @param chosen all recordings if empty, else those whose group begins with one of these names */
export function* findPoints(chosen: readonly string[] = []): Generator<BenchPoint> {
  const recordings = readRecordings();
  const corpus = new Corpus(recordings);
  for (const recording of recordings) {
    if (chosen.length > 0 && !chosen.some((name) => recording.group.startsWith(name))) continue;
    const sizes = recording.messages.map(sizeOf);
    for (const cut of findCuts(recording.messages, sizes)) {
      const point = findPoint(recording, cut, corpus);
      if (point.needles.length < MIN_NEEDLES) continue;
      yield {
        point,
        scorer: new QualityScorer(point),
        family: familyOf(recording.group),
        tokens: countTokens(point.sourceText),
      };
    }
  }
}

export function familyOf(group: string): Family {
  return FAMILY_OF.find(([pattern]) => pattern.test(group))?.[1] ?? 'coding';
}

function sizeOf(message: Message): number {
  return message.role === 'system' ? 0 : countTokens(renderMessage(message));
}
