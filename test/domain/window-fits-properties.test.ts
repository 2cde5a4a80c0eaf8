import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { requestTokensOf } from '../../src/compaction/budget.ts';
import { readGroups } from '../../src/domain/group.ts';
import { runToEnd } from '../../src/domain/interruptible.ts';
import { NO_OVERHEAD } from '../../src/domain/size.ts';
import type { ContextItem } from '../../src/domain/version.ts';
import { contextOf } from './alphabet.ts';
import { planPass, requestOver, settledLine, settleLine, settlePass } from './passes.ts';

const sizes = fc.oneof(fc.integer({ min: 5, max: 30 }), fc.integer({ min: 5, max: 300 }));
const rounds = fc.tuple(sizes, sizes).map(([call, result]) => `t:${call} r:${result}`);
const turns = fc
  .tuple(sizes, fc.array(rounds, { maxLength: 3 }), fc.option(sizes))
  .map(([user, calls, answer]) => `u:${user} ${calls.join(' ')} ${answer === null ? '' : `a:${answer}`}`);
const histories = fc.array(turns, { minLength: 1, maxLength: 8 }).map((all) => all.join(' '));

/**
 * Tokens that a request needs for the newest group alone, or for the last user message alone. The placeholder counts
 * before a group that is no user message.
 */
function tokensOfNewest(line: string): number {
  const { items } = contextOf(line);
  const { groups } = runToEnd(readGroups(items.map(({ message }) => message)));
  const newest = (groups.at(-1)?.positions ?? []).map((position) => items[position] as ContextItem);
  const lastUser = items.filter(({ message: { role } }) => role === 'user').slice(-1);
  return Math.max(...[newest, lastUser].map((own) => requestTokensOf({ overhead: NO_OVERHEAD }, own)));
}

describe('a budget in which the newest messages fit', () => {
  test('a manual pass reaches every budget that has room for the newest round of any history, and for its last request alone', () => {
    fc.assert(
      fc.property(histories, fc.nat(400), fc.array(fc.nat(200), { maxLength: 3 }), (line, more, summaries) => {
        const maxTokens = tokensOfNewest(line) + more;
        const all = contextOf(line).items;
        const outcome = settleLine(line, { policy: { maxTokens }, reasons: ['manual'] }, summaries);
        if (requestTokensOf({ overhead: NO_OVERHEAD }, all) <= maxTokens) return;
        expect(outcome.kind).toBe('version');
        if (outcome.kind === 'version') expect(outcome.tokensAfter).toBeLessThanOrEqual(maxTokens);
      }),
      { numRuns: 500 },
    );
  });

  test('the last request goes if the round after it would not fit otherwise', () => {
    const { tokensAfter } = settledLine('u:20 a:20 u:40 t:50 r:50', {
      policy: { maxTokens: 116 },
      reasons: ['manual'],
    });
    expect(tokensAfter).toBeLessThanOrEqual(116);
  });

  test('the last request of a running turn never goes, so that the agent does not answer without a question', () => {
    const context = { ...contextOf('u:20 a:20 u:40 t:50 r:50'), inputs: [3] };
    const request = requestOver(context, { policy: { maxTokens: 116 }, reasons: ['manual'] });
    expect(settlePass({ ...request, plan: planPass(request), summaries: [] }).kind).toBe('infeasible');
  });

  test('an unread result goes if the message after it would not fit otherwise', () => {
    const { tokensAfter } = settledLine('u:20 t:20 r:20 u:20', { policy: { maxTokens: 24 }, reasons: ['manual'] });
    expect(tokensAfter).toBe(23);
  });
});
