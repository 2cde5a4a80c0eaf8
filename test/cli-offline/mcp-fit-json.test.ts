import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clipMiddle, fitJson } from '../../src/cli/mcp/fit-json.ts';

describe('results of MCP tools', () => {
  test('any JSON value is written as JSON of at most the limit, and unchanged if it fits', () => {
    const values = fc.jsonValue({ maxDepth: 6, noUnicodeString: false });
    fc.assert(
      fc.property(values, fc.integer({ min: 60, max: 2_000 }), (value, most) => {
        const json = fitJson(value, most);
        expect(json.length).toBeLessThanOrEqual(most);
        const read = JSON.parse(json) as unknown;
        if (JSON.stringify(value).length <= most) expect(read).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 50 },
    );
  });

  test('a long list keeps its start and its end, and says how many entries are left out', () => {
    const seqs = Array.from({ length: 20_000 }, (_, seq) => ({ seq }));
    const read = JSON.parse(fitJson({ seqs }, 60_000)) as { seqs: unknown[] };
    expect(read.seqs[0]).toEqual({ seq: 0 });
    expect(read.seqs.at(-1)).toEqual({ seq: 19_999 });
    expect(read.seqs).toContain('… 19000 left out …');
  });

  test('a long text keeps its start and its end, and no half of a character', () => {
    const clipped = clipMiddle('😀'.repeat(1_000), 101);
    expect(clipped).toContain('[… 1900 characters left out …]');
    expect(clipped.isWellFormed()).toBe(true);
  });
});
