import { describe, expect, test } from 'vitest';
import { PLACEHOLDER, requestTokens } from '../../src/compaction/budget.ts';
import { editProposal } from '../../src/compaction/edited-proposal.ts';
import { type Proposal, rangeName } from '../../src/domain/proposal.ts';
import { type Segment, START_VERSION, type Summary } from '../../src/domain/version.ts';

const overhead = { tokens: 100, bytes: 400, calibration: 1 };

function summaryOf(text: string, from: number, model: string): Summary {
  return { text, covers: { from, to: from + 1 }, sources: [], depth: 1, model };
}

function segmentOf(text: string, from: number): Segment {
  return {
    kind: 'summary',
    from,
    to: from + 1,
    version: 2,
    weight: { tokens: 10, bytes: 40 },
    summaryKey: text,
    depth: 1,
  };
}

const proposal: Proposal = {
  id: 'p1',
  version: {
    ...START_VERSION,
    number: 2,
    model: 'recorder',
    weight: { tokens: 25 + PLACEHOLDER.tokens, bytes: 100 + PLACEHOLDER.bytes },
    segments: [
      segmentOf('first', 1),
      { kind: 'raw', from: 3, to: 3, weight: { tokens: 5, bytes: 20 } },
      segmentOf('second', 4),
    ],
  },
  summaries: { first: summaryOf('a', 1, 'recorder'), second: summaryOf('b', 4, 'recorder') },
};

describe('a proposal whose summary a person edited', () => {
  const summary = summaryOf('what a person wrote', 4, 'reviewer');
  const edit = { replaces: 'second', key: 'third', summary, weight: { tokens: 30, bytes: 120 } };
  const edited = editProposal(proposal, [edit], overhead);

  test('a proposal edited by a person contains the new summary instead of the proposed one', () => {
    expect(edited.version.segments).toStrictEqual([
      ...proposal.version.segments.slice(0, 2),
      { ...segmentOf('third', 4), weight: edit.weight },
    ]);
    expect(edited.summaries).toStrictEqual({ first: proposal.summaries['first'], third: summary });
  });

  test('a proposal edited by a person has the size of the new summary, with the placeholder before its first message', () => {
    const weight = { tokens: 45 + PLACEHOLDER.tokens, bytes: 180 + PLACEHOLDER.bytes };
    const tokens = requestTokens({ overhead }, weight.tokens);
    expect(edited.version).toMatchObject({ weight, tokensAfter: tokens });
    expect(edited.version.measuredAt).toMatchObject({ tokens, bytes: weight.bytes + overhead.bytes });
  });

  test('a proposal edited by a person names the model and the person as its authors', () => {
    expect(edited.version.model).toBe('recorder, reviewer');
  });
});

test('editing a proposal without new summaries keeps the model name of the proposed version', () => {
  const bare = { ...proposal, version: { ...proposal.version, segments: [] }, summaries: {} };
  expect(editProposal(bare, [], overhead).version.model).toBe('recorder');
});

test('a person names the summary to edit by its range of messages, e.g. 5-9', () => {
  expect(rangeName(summaryOf('a', 5, 'recorder'))).toBe('5-6');
});
