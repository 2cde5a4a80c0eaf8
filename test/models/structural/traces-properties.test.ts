import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { countSource, type Fixture, openFixture } from './sequence-messages.ts';
import { hasTraces, readSequences, type TraceSequence } from './traces.ts';

const MIN_SOURCE_TOKENS = 256;
const CAPS = inject('isThorough') ? [24, 60, 240, 2_000] : [24, 2_000];
/** One sequence of so many is summarized, and no more of a file. All of them take a minute. */
const SAMPLE = 3;
const MOST_OF_A_FILE = 40;

/** Finds literals in arguments with rules of the test's own. */
const WORDS = /https?:\/\/[^\s"'`<>)\\\]}]+|[\w.@~#$%+-]*\/[\w.@/+-]+|[\w#@.-]+/g;
const PATH = /^[~.]{0,2}\/[\w.]|\/.*\/|\/[\w-]+\.\w+$|\.(?:ts|js|py|md|json|rs|txt|toml|yaml)$/;
const DATE_OR_NUMBER = /^(?:\d{4}-\d\d-\d\d|\d{3,})$/;
const ID = /^(?=.*[A-Za-z])(?=.*\d.*\d)[#\w-]{5,}$/;

function isLiteral(word: string): boolean {
  return word.length >= 3 && (PATH.test(word) || DATE_OR_NUMBER.test(word) || ID.test(word));
}

function argumentLiterals(messages: readonly Message[]): string[] {
  const calls = messages.flatMap((message) => message.toolCalls ?? []);
  const words = calls.flatMap((call) => leaves(JSON.parse(call.arguments)).flatMap((text) => text.match(WORDS) ?? []));
  return [...new Set(words.map((word) => word.replace(/^[.$-]+(?=\w)|[.,:-]+$/g, '')).filter(isLiteral))];
}

function leaves(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(leaves);
  return [String(value)];
}

// Skipped without the recorded conversations beside the project (../shared/traces).
describe.skipIf(!hasTraces)('recorded conversations (skipped without ../shared/traces)', () => {
  let fixture: Fixture;
  let sequences: { sequence: TraceSequence; tokens: number }[];

  beforeAll(async () => {
    fixture = await openFixture();
    const read = readSequences().filter((_, index) => index % SAMPLE === 0);
    const bySource = Map.groupBy(read, ({ source }) => source).values();
    sequences = [...bySource].flatMap((own) =>
      own
        .map((sequence) => ({ sequence, tokens: countSource(fixture.counter, sequence.messages) }))
        .filter(({ tokens }) => tokens >= MIN_SOURCE_TOKENS)
        .slice(0, MOST_OF_A_FILE),
    );
  });

  test.each(CAPS)(
    'a structural summary of a recorded conversation has at most %i tokens, and fewer than its source',
    async (maxTokens) => {
      expect(sequences.length).toBeGreaterThan(130);
      const sample = inject('isThorough') ? sequences : sequences.filter((_, index) => index % 3 === 0);
      for (const { sequence, tokens } of sample) {
        const { messages, userRequest } = sequence;
        const text = await fixture.write({
          messages,
          maxTokens,
          ...(userRequest === undefined ? {} : { userRequest }),
        });
        expect(fixture.counter.countSync(text)).toBeLessThan(tokens);
        expect(text.isWellFormed()).toBe(true);
      }
    },
  );

  test('structural summaries with a limit of a quarter of their source fill 92 % of it, and keep 78 % of the literals (ids, paths) in arguments', async () => {
    let fill = 0;
    let kept = 0;
    let literals = 0;
    for (const { sequence, tokens } of sequences) {
      const { messages, userRequest } = sequence;
      const maxTokens = Math.min(2_000, Math.floor(tokens / 4));
      const text = await fixture.write({ messages, maxTokens, ...(userRequest === undefined ? {} : { userRequest }) });
      const named = argumentLiterals(messages);
      fill += fixture.counter.countSync(text) / maxTokens;
      kept += named.filter((literal) => text.includes(literal)).length;
      literals += named.length;
    }
    expect(literals).toBeGreaterThan(1_000);
    expect(fill / sequences.length).toBeGreaterThan(0.92);
    expect(kept / literals).toBeGreaterThan(0.77);
  });

  test('a second structural summary, over the first one and as many new messages, keeps 66 % of the first one’s ids, paths and numbers', async () => {
    let kept = 0;
    let literals = 0;
    for (const { sequence, tokens } of sequences) {
      const { messages } = sequence;
      const maxTokens = Math.min(2_000, Math.floor(tokens / 4));
      const half = messages.findIndex(({ role }, index) => index >= messages.length / 2 && role === 'assistant');
      if (half <= 0) continue;
      const first = await fixture.summarize({ messages: messages.slice(0, half), maxTokens });
      if (first.status !== 'written') continue;
      const summary: Message = { role: 'summary', content: first.text, summary: { from: 1, to: half } };
      const second = await fixture.write({ messages: [summary, ...messages.slice(half)], maxTokens });
      const named = argumentLiterals(messages.slice(0, half)).filter((literal) => first.text.includes(literal));
      kept += named.filter((literal) => second.includes(literal)).length;
      literals += named.length;
    }
    expect(literals).toBeGreaterThan(300);
    expect(kept / literals).toBeGreaterThan(0.66);
  });
});
