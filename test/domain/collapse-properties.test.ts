import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import type { Policy } from '../../src/domain/policy.ts';
import { compactConversation } from '../../src/evaluation/compact.ts';
import {
  createOfflineSummarizers,
  prepareOfflineAgent,
  weighConversation,
} from '../../src/evaluation/offline-agent.ts';
import { RememberedCounts } from '../../src/evaluation/remembered-counts.ts';
import { toolResult, user } from './messages.ts';

/** Least share of the budget that a context fills if its source had more. */
const MIN_FILL = 0.7;

let counts: RememberedCounts;

beforeAll(() => {
  counts = new RememberedCounts();
});

const says = (content: string): Message => ({ role: 'assistant', content });
const reads = (id: string, path: string): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name: 'read_file', arguments: JSON.stringify({ path }) }],
});

/** A session of about 30,000 tokens over some files. */
function session(): Message[] {
  return Array.from({ length: 60 }, (_, step): Message[] => [
    says(`Step ${step}: I check how module_${step} handles retries before I change it.`),
    reads(`c${step}`, `src/module_${step}.ts`),
    toolResult(
      `c${step}`,
      Array.from({ length: 40 }, (__, line) => `${line}: const retry_${step}_${line} = limit_${line} * ${step};`).join(
        '\n',
      ),
    ),
  ]).flat();
}

const LINE = 'row 2024-05-14 status=ok shard=eu-west latency_ms=';

/** About 93 KB. */
const huge = Array.from({ length: 1_600 }, (_, row) => `${LINE}${row % 977}`).join('\n');

const histories: Readonly<Record<string, readonly Message[]>> = {
  'a huge answer of the agent near the end': [user('Fix the retries.'), ...session(), says(huge), user('Go on.')],
  'a huge result near the end': [
    user('Fix the retries.'),
    ...session(),
    reads('big', 'log.txt'),
    toolResult('big', huge),
    says('The log shows no error.'),
  ],
  'a huge result that the model has not read': [
    user('Fix the retries.'),
    ...session(),
    reads('big', 'log.txt'),
    toolResult('big', huge),
  ],
  'a huge user message that the model has read': [user(huge), ...session()],
  'a huge user message in the middle': [
    user('Fix the retries.'),
    ...session(),
    user(huge),
    says('I have read the log.'),
    user('Go on.'),
    says('Done.'),
  ],
};

/** A pair of each with `npm test`, and all with `npm run test:faults`. */
const cases = Object.keys(histories).flatMap((history) =>
  [2_000, 4_000].flatMap((maxTokens, size) =>
    (['sequences', 'prefix'] as const)
      .filter((_, scope) => inject('isThorough') || scope === size)
      .map((scope): [string, number, Policy['scope']] => [history, maxTokens, scope]),
  ),
);

describe('a message that is larger than the budget', () => {
  test.each(cases)(
    'compaction of a history with %s leaves a context that fills %i tokens, with scope %s',
    async (history, maxTokens, scope) => {
      const prepared = await prepareOfflineAgent({ maxTokens, scope }, {}, counts);
      const weighed = await weighConversation(histories[history] as readonly Message[], prepared);
      const { report, messages } = await compactConversation(weighed, prepared, await createOfflineSummarizers(counts));
      expect(report.tokensAfter).toBeLessThanOrEqual(maxTokens);
      expect(report.tokensAfter).toBeGreaterThanOrEqual(MIN_FILL * maxTokens);
      // The huge message does not push out everything else.
      const others = messages.map(({ content }) => content).join('\n');
      expect(others).toContain('module_');
    },
  );
});
