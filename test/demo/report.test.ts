import { describe, expect, test } from 'vitest';
import { describeVersions } from '../../src/cli/commands/show.ts';
import { type DemoRun, describeRuns, plotRuns, summarizeRun } from '../../src/cli/demo/report.ts';
import { START_VERSION, type Version } from '../../src/domain/version.ts';

const version = (number: number, change: Partial<Version>): Version => ({ ...START_VERSION, number, ...change });
const sent = (...sizes: number[]) => sizes.map((tokens) => ({ tokens, isSent: true }));

function run(change: Partial<DemoRun> = {}): DemoRun {
  return {
    conversation: 'demo',
    turns: 3,
    failures: [],
    requests: sent(100, 300, 200),
    appended: 5_000,
    tokensEnd: 150,
    versions: [],
    ...change,
  };
}

describe('the summary of the demo', () => {
  test('the summary of the demo counts compactions by strategy, and model calls above the window', () => {
    const versions = [
      version(1, { strategy: 'summarize' }),
      version(2, { strategy: 'evict' }),
      version(3, { strategy: 'summarize' }),
    ];
    expect(summarizeRun(run({ versions }), 250)).toStrictEqual({
      turns: 3,
      versions: 3,
      summarized: 2,
      evicted: 1,
      tokensPeak: 300,
      tokensEnd: 150,
      overLimit: 1,
    });
  });

  test('the summary of the demo does not count as too large a model call that exactly fills the window or was not sent', () => {
    const requests = [...sent(250), { tokens: 900, isSent: false }];
    expect(summarizeRun(run({ requests }), 250)).toMatchObject({ tokensPeak: 250, overLimit: 0 });
  });

  test('the summary of the demo works for a run without a model call', () => {
    expect(summarizeRun(run({ requests: [] }), 250)).toMatchObject({ tokensPeak: 0, overLimit: 0 });
  });
});

describe('the plot of the demo', () => {
  const lines = plotRuns(run(), run({ requests: sent(100, 400, 800) }), 350);

  test('the plot of the demo names the window and fits a terminal', () => {
    expect(lines[0]).toContain('350');
    const drawn = lines.filter((line) => /[┤┼]/.test(line));
    expect(drawn).toHaveLength(15);
    for (const line of drawn) expect(line.length).toBeLessThanOrEqual(90);
  });

  test('the axis of the demo plot reaches from 0 to the largest request of both runs', () => {
    const axis = lines.flatMap((line) => /^ *(\d+) [┤┼]/.exec(line)?.[1] ?? []).map(Number);
    expect([axis[0], axis.at(-1)]).toStrictEqual([800, 0]);
  });

  test('the plot of the demo has no colour codes, because it is also written to files', () => {
    expect(lines.join('')).not.toContain('\u001b');
  });

  test('the plot of the demo works for runs without a model call', () => {
    expect(plotRuns(run({ requests: [] }), run({ requests: [] }), 350).length).toBeGreaterThan(3);
  });
});

describe('the demo’s table of context versions', () => {
  const first = version(1, {
    strategy: 'summarize',
    reasons: ['token_threshold', 'ratio'],
    archived: 22,
    tokensBefore: 8_591,
    tokensAfter: 4_116,
    durationMs: 95,
  });

  test('the demo aligns the columns of its table of context versions', () => {
    const second = version(10, {
      strategy: 'evict',
      reasons: ['manual'],
      archived: 5,
      tokensBefore: 10,
      tokensAfter: 5,
    });
    expect(describeVersions([first, { ...second, durationMs: 6 }])).toStrictEqual([
      'version  strategy   reasons                 archived  tokens before → after  took',
      '1        summarize  token_threshold, ratio  22        8591 → 4116            95 ms',
      '10       evict      manual                  5         10 → 5                 6 ms',
    ]);
  });

  test("the demo's table of context versions has a column of notes only if a version has a note", () => {
    const noted = describeVersions([{ ...first, explained: ['retention_floor'], floorRelaxed: true }]);
    expect(noted[0]?.endsWith('  notes')).toBe(true);
    expect(noted.slice(1).join(' ')).toMatch(/ {2}retention_floor,.*floor_relaxed/);
  });

  test("the demo's table of context versions has only its header if there is no version", () => {
    expect(describeVersions([])).toHaveLength(1);
  });
});

describe('the sentences', () => {
  const without = run({
    failures: ['context_overflow', 'context_overflow'],
    requests: [...sent(100), { tokens: 400, isSent: false }, { tokens: 500, isSent: false }],
  });

  test('the report of the demo compares both runs', () => {
    const [first, second, ...others] = describeRuns(run(), without, 350);
    expect(first).toBe('5000 tokens in the log, at most 300 in a request, 150 at the end, 0 calls over the limit');
    expect(second).toBe('without compaction 2 calls exceed the window, and 2 of 3 turns fail (2 context_overflow)');
    expect(others).toStrictEqual([]);
  });

  test('the report of the demo begins with turns that failed in spite of compaction', () => {
    const failures = ['budget_infeasible', 'poison', 'budget_infeasible'];
    expect(describeRuns(run({ failures }), without, 350)[0]).toBe(
      '3 of 3 turns fail (2 budget_infeasible, 1 poison) with compaction on',
    );
  });
});
