import { describe, expect, test } from 'vitest';
import { Corpus, type Recording } from '../../../bench/context/quality/corpus.ts';
import { findCuts, findPoint } from '../../../bench/context/quality/point.ts';
import { QualityScorer } from '../../../bench/context/quality/score.ts';
import { renderMessage } from '../../../src/evaluation/quality/searchable-text.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { hasTraces, readConversationFiles } from '../../wire/traces.ts';

const counter = await loadTokenCounter('o200k_base');

/** Two files of different kinds. All files take minutes. */
const FILES = ['coding_forge', 'coding_sweagent'];

const recordings = readConversationFiles()
  .filter(({ name }) => FILES.includes(name))
  .flatMap(({ name, conversations }) => conversations.map((one): Recording => ({ ...one, group: name })));
const corpus = new Corpus(recordings);

describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  test('each cut of a recorded conversation keeps tool rounds whole, and the source before the cut contains every needle', () => {
    let points = 0;
    for (const recording of recordings) {
      const { messages } = recording;
      const sizes = messages.map((message) =>
        message.role === 'system' ? 0 : counter.countSync(renderMessage(message)),
      );
      for (const cut of findCuts(messages, sizes)) {
        const point = findPoint(recording, cut, corpus);
        const scorer = new QualityScorer(point);
        points += 1;
        expect(messages[cut]?.role).not.toBe('tool');
        expect(point.controls.length).toBeLessThanOrEqual(point.needles.length);
        for (const { text } of point.needles) expect(point.controls).not.toContain(text);
        if (point.needles.length === 0) continue;
        expect(scorer.score(point.sourceText)).toMatchObject({ recall: 1, anchored: 1, invented: 0 });
        expect(scorer.score(point.sourceText).selectivity ?? 0).toBe(0);
        expect(scorer.score('')).toMatchObject({ recall: 0, anchored: 0 });
      }
    }
    expect(points).toBeGreaterThan(10);
  });
});
