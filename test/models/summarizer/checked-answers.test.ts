import { describe, expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { WIRE_FORMATS } from '../../../src/domain/raw-items.ts';
import { findIdentifiers } from '../../../src/evaluation/quality/identifiers.ts';
import { holds } from '../../../src/evaluation/quality/searchable-text.ts';
import { createModelSummarizer } from '../../../src/summarize/model/model-summarizer.ts';
import { loadTokenCounter } from '../../../src/wire/tokens/token-counter.ts';
import { startProvider } from '../../provider/provider.ts';
import { connect } from '../fixture.ts';
import { record, round, say } from './fixture.ts';

const PATHS = ['src/orders/refund.ts', 'src/orders/price_table.ts', 'test/orders/refund.test.ts'];
/** Lines of plain words, as in a file that holds no names. */
const FILLER = Array.from({ length: 40 }, (_, at) =>
  ['bread', 'milk', 'cheese', 'apples', 'pears'].map(
    (word, place) => `${word} ${'and more '.repeat((at + place) % 4)}`,
  ),
)
  .map((words) => `// ${words.join('of ')}`)
  .join('\n');
const MESSAGES: readonly Message[] = [
  say('The refund of order #W8834521 fails. I read the code of the refund first.'),
  ...PATHS.flatMap((path, at) => [
    ...round({
      id: `r${at}`,
      name: 'read_file',
      given: { path },
      result: `${FILLER}\nexport const maxRefundCents = 125000;`,
    }),
    say(`${path} uses maxRefundCents. The refund of #W8834521 must call applyPriceTable before it checks the limit.`),
  ]),
  ...round({ id: 'w', name: 'write_file', given: { path: PATHS[0], content: FILLER }, result: 'written' }),
  ...round({
    id: 't',
    name: 'run',
    given: { command: 'vitest run test/orders' },
    result: 'FAIL refund.test.ts:41\nexit code 1',
  }),
  say('Next I fix applyPriceTable in src/orders/price_table.ts.'),
];
const SOURCE = MESSAGES.flatMap(({ content, toolCalls = [] }) => [
  content,
  ...toolCalls.flatMap((call) => [call.name, ...Object.values(JSON.parse(call.arguments) as Record<string, string>)]),
]).join('\n');

const TERSE = record({ next: ['Fix applyPriceTable.'] });
const INVENTING = record({
  goal: ['Fix the refund of #W8834521 and of #W1112223 in src/orders/refund.ts.'],
  facts: [
    'The limit is maxRefundCents = 250000, checked by checkRefundLimit.',
    'lib/refunds/legacy_refund.py',
    'Ask jane.roe@shop.example, code QXZPLT, commit 9f8e7d6c5b.',
  ],
  next: ['I fix applyPriceTable.'],
});

const inventedIn = (text: string): string[] => [...findIdentifiers(text).keys()].filter((name) => !holds(SOURCE, name));

describe.each(WIRE_FORMATS)('over %s', (format) => {
  async function summarize(text: string, maxTokens = 500) {
    await using provider = await startProvider({ answers: [{ text }] });
    const counter = await loadTokenCounter('o200k_base');
    const summarizer = createModelSummarizer({ model: connect(format, provider), counter, clock: { now: () => 0 } });
    const answer = await summarizer.summarize({
      range: { from: 1, to: MESSAGES.length },
      messages: MESSAGES,
      maxTokens,
      signal: new AbortController().signal,
    });
    expect(provider.requests.map(({ refusal }) => refusal)).toEqual([undefined]);
    if (answer.status === 'written') expect(counter.countSync(answer.text)).toBeLessThanOrEqual(maxTokens);
    return answer;
  }

  it(`a ${format} model’s summary that omits important names gets the lines of the log with these names, up to its token limit`, async () => {
    const { text } = (await summarize(TERSE)) as { text: string };
    expect(text).toMatch(/\n## Next step\nagent 15: Next I fix applyPriceTable in src\/orders\/price_table\.ts\.$/);
    expect(text).toContain('## Lines from the log\n');
    for (const name of [...PATHS, '#W8834521', 'maxRefundCents', 'applyPriceTable']) expect(text).toContain(name);
    expect(inventedIn(text)).toEqual([]);
  });

  it(`a ${format} model’s summary contains quotes of the log in place of what the model invented`, async () => {
    expect(inventedIn(INVENTING).length).toBeGreaterThan(6);
    const { text } = (await summarize(INVENTING)) as { text: string };
    expect(inventedIn(text)).toEqual([]);
    const facts = 'The refund of #W8834521 must call applyPriceTable before it checks the limit.';
    expect(text).toMatch(/^changed: src\/orders\/refund\.ts \(write_file\)\n## Facts\nagent \d+: /);
    expect(text).toContain(facts);
    expect(text).not.toContain('legacy');
  });

  it.each([
    ['refuses', 'I cannot help with that.', 'the answer has none of the requested sections'],
    [
      'only invents',
      record({ facts: ['src/ghost/a_file.ts', 'ghostCall, 987654'] }),
      'the answer quotes nothing that the messages hold',
    ],
    ['says nothing', ' ', 'the summary is empty'],
  ])(`the summarizer refuses the answer of a ${format} model that %s`, async (_, text, why) => {
    expect(await summarize(text)).toEqual({ status: 'refused', why });
  });
});
