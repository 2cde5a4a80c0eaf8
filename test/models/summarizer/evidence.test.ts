import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { Evidence } from '../../../src/summarize/model/evidence.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { contentOf, openWorld, PLAN, prose, QUOTES, RECORD, record, round, say } from './fixture.ts';

const counter = await loadTokenCounter('o200k_base');
const MESSAGES = Array.from({ length: 30 }, (_, at) => [
  say(`Now I read module_${at} for order #W${7_000 + at}.`),
  ...round({
    id: `c${at}`,
    name: 'read_file',
    given: { path: `src/module_${at}.ts` },
    result: `export const value_${at} = '${prose(40, at)}';`,
  }),
])
  .flat()
  .concat(PLAN);
const request = {
  range: { from: 1, to: MESSAGES.length },
  messages: MESSAGES,
  maxTokens: 600,
  signal: AbortSignal.any([]),
};

/** Lines of the evidence in the prompt of a model call. */
function evidenceOf(content: string): string[] {
  const [, lines = ''] = /<evidence>\n([\s\S]*)\n<\/evidence>/.exec(content) ?? [];
  return lines.split('\n').filter((line) => line !== '');
}

it('the evidence for a summary stays within its token limit, and contains only lines of the given messages', async () => {
  const evidence = await Evidence.read(counter, request);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 800 }),
      fc.tuple(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 90 })),
      async (maxTokens, [a, b]) => {
        const range = { from: Math.min(a, b), to: Math.max(a, b) };
        const lines = await evidence.choose({ maxTokens, range, render: ({ text }) => text });
        expect(counter.countSync(lines.join('\n'))).toBeLessThanOrEqual(maxTokens);
        const texts = MESSAGES.map(
          ({ content, toolCalls = [] }) => `${content} ${toolCalls.map((call) => call.arguments).join()}`,
        );
        expect(new Set(lines).size).toBe(lines.length);
        const holders = lines.map((line) => {
          const [, said = ''] = /^(?:agent \d+: |→ read_file path: |← )(.*)$/.exec(line) ?? [];
          const records = said.split(' … ');
          const holds = (text: string): boolean => records.every((part) => text.includes(part));
          return texts.findIndex((text, at) => at + 1 >= range.from && holds(text)) + 1;
        });
        for (const holder of holders) {
          expect(holder).toBeGreaterThanOrEqual(range.from);
          expect(holder).toBeLessThanOrEqual(range.to);
        }
      },
    ),
    { numRuns: 50 },
  );
});

it('the evidence for a summary has its lines in the order of the log', async () => {
  const evidence = await Evidence.read(counter, request);
  const lines = await evidence.choose({ maxTokens: 400, range: request.range, render: ({ text }) => text });
  const calls = lines.flatMap((line) => /^→ read_file path: src\/module_(\d+)\.ts$/.exec(line)?.[1] ?? []).map(Number);
  expect(calls.length).toBeGreaterThan(2);
  expect(calls).toEqual(calls.toSorted((a, b) => a - b));
});

it('the evidence for a summary has no line whose names the summary already contains', async () => {
  const evidence = await Evidence.read(counter, request);
  const choose = (said: string): Promise<string[]> =>
    evidence.choose({ maxTokens: 400, range: request.range, said, render: ({ text }) => text });
  const lines = await choose('');
  expect(lines.length).toBeGreaterThan(5);
  const after = await choose(lines.join('\n'));
  expect(after.filter((line) => lines.includes(line))).toEqual([]);
});

it('a model summarizer’s prompt lists lines of the log with the names that must not be lost, within half of the summary’s limit', async () => {
  const world = await openWorld();
  await world.summarize({ ...request, signal: new AbortController().signal });
  const lines = evidenceOf(world.requests.map(contentOf).join('\n'));
  expect(lines.length).toBeGreaterThan(3);
  expect(counter.countSync(lines.join('\n'))).toBeLessThanOrEqual(300);
  for (const line of lines) {
    const [, text = '', terms = ''] = /^(.*) \[(.+)\]$/.exec(line) ?? [];
    for (const term of terms.split(', ')) expect(text).toContain(term);
  }
});

it('each part of messages larger than the model’s window gets evidence of its own messages', async () => {
  const world = await openWorld({ profile: { windowTokens: 5_000, outputCapTokens: 1_000 } });
  expect(await world.summarize({ ...request, signal: new AbortController().signal })).toMatchObject({
    status: 'written',
  });
  const parts = world.requests.map(contentOf).filter((content) => content.includes('<transcript>'));
  expect(parts.length).toBeGreaterThan(1);
  for (const part of parts) {
    const transcript = part.slice(0, part.indexOf('</transcript>')).replaceAll(/[{}":]+/g, ' ');
    const lines = evidenceOf(part);
    expect(lines).not.toEqual([]);
    for (const line of lines) {
      const [, said = ''] = /^(?:agent \d+: |→ read_file path: |← )(.*) \[.+\]$/.exec(line) ?? [];
      for (const quote of said.split(' … ')) expect(transcript).toContain(quote.replaceAll(/[{}":]+/g, ' '));
    }
  }
});

it('a summary that already lists every name of the log gets fewer lines with these names', async () => {
  const facts = MESSAGES.flatMap(({ content }) => content.match(/module_\d+ for order #W\d+/) ?? []);
  const linesAfter = async (content: string): Promise<number> => {
    const world = await openWorld({ decide: () => ({ content }) });
    const answer = await world.summarize({ ...request, maxTokens: 1_500, signal: new AbortController().signal });
    const [, lines = ''] = (answer as { text: string }).text.split('## Lines from the log\n');
    return lines.split('\n').filter((line) => /module_|#W/.test(line)).length;
  };
  const before = await linesAfter(RECORD);
  // The lines that are left have words that the list of names lacks.
  expect(await linesAfter(record({ ...QUOTES, facts }))).toBeLessThan(before / 2);
});
