import { expect, test } from 'vitest';
import { weighItems } from '../../src/compaction/context.ts';
import { buildLog, type LogEntry, type Message, type WeighedMessage } from '../../src/domain/message.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { countRuns } from '../setup/count-runs.ts';
import { contextOfStory, type Story, takePass } from './passes.ts';

/** With fewer turns, old summaries would not yet fold several times. */
const TURNS = Math.max(1_500, countRuns(5_000));
const policy = { maxTokens: 40_000, tokenThreshold: 52_000 };

/** One turn: a user message, three tool rounds of some hundred tokens each, and the answer. */
function turnOf(turn: number): WeighedMessage[] {
  const weighed = (message: Message, tokens: number): WeighedMessage => ({ message, tokens, bytes: tokens * 4 });
  const rounds = [0, 1, 2].flatMap((round) => {
    const id = `c${turn}_${round}`;
    const call: Message = { role: 'assistant', content: '', toolCalls: [{ id, name: 'read', arguments: '{}' }] };
    return [
      weighed(call, 40),
      weighed({ role: 'tool', content: 'what it said', toolCallId: id }, 200 + ((turn * 37) % 400)),
    ];
  });
  const asked = weighed({ role: 'user', content: `Question ${turn}` }, 20 + (turn % 60));
  return [asked, ...rounds, weighed({ role: 'assistant', content: 'Answer' }, 120)];
}

test('over thousands of turns, summaries stay within their share of the token budget, and no message gets lost', () => {
  let story: Story = { version: START_VERSION, entries: [], summaries: new Map() };
  const entries: LogEntry[] = [];
  let [passes, largestShare, tokens] = [0, 0, 0];
  for (let turn = 1; turn <= TURNS; turn += 1) {
    const added = turnOf(turn);
    const last = entries.at(-1);
    for (const entry of buildLog(added)) {
      const total = {
        tokens: entry.total.tokens + (last?.total.tokens ?? 0),
        bytes: entry.total.bytes + (last?.total.bytes ?? 0),
      };
      entries.push({ ...entry, seq: entry.seq + (last?.seq ?? 0), total });
      tokens += entry.tokens;
    }
    if (tokens < policy.tokenThreshold) continue;
    passes += 1;
    const summarize = (sequence: { readonly maxTokens: number }): number => sequence.maxTokens;
    const taken = takePass({ ...story, entries }, { policy, reasons: ['token_threshold'], summarize });
    expect(taken.settlement?.kind).toBe('version');
    story = taken.story;
    const { items } = contextOfStory(story);
    tokens = weighItems(items).tokens;
    expect(tokens).toBeLessThanOrEqual(policy.maxTokens);
    const inSummaries = weighItems(items.filter(({ segment }) => segment?.kind === 'summary')).tokens;
    largestShare = Math.max(largestShare, inSummaries / policy.maxTokens);
    let next = 1;
    for (const { from, to } of story.version.segments) {
      expect(from).toBe(next);
      next = to + 1;
    }
    expect(next).toBe(entries.length + 1);
  }
  expect(passes).toBeGreaterThan(TURNS * 0.03);
  // The shares of the summaries and of the users' words in them, and what whole groups leave unused of the tail.
  expect(largestShare).toBeLessThanOrEqual(0.82);
  expect(largestShare).toBeGreaterThan(0.6);
});
