import { expect, it } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { openWorld, prose, round, say } from './fixture.ts';

const MESSAGES: readonly Message[] = [
  {
    role: 'user',
    content: 'Fix the refund of order #W8834521. Never touch the table customers. Répondez en français.',
  },
  say('The refund of order #W8834521 fails with E_LIMIT. The limit is checked before the price table is applied.'),
  ...round({
    id: 'r1',
    name: 'read_file',
    given: { path: 'src/orders/refund.ts' },
    result: 'import { limits } from "./limits";\nexport const maxRefundCents = 125000;\nexport const retries = 3;',
  }),
  ...round({
    id: 'q1',
    name: 'run_sql',
    given: { query: 'SELECT status, total FROM orders WHERE id = 8834521' },
    result: '[{"status":"delivered","total":1299.5,"warehouse":"LEJ1"}]',
  }),
  ...round({
    id: 't1',
    name: 'run',
    given: { command: 'vitest run test/orders' },
    result: 'Tests: 3 failed, 42 passed\nFAIL test/orders/refund.test.ts:41\nexit code 1',
  }),
  ...round({ id: 'm1', name: 'mail', given: { to: 'shop' }, result: 'the mailbox is full', isError: true }),
  say('I decided to call applyPriceTable first, because the limit is in euro and the price in dollars.'),
  say('Das Lager LEJ1 liefert erst am 4. Mai wieder aus. 仓库 LEJ1 的库存是 17 件。返金の上限は125000です。'),
  say('Three tests still fail. It is open whether the limit holds for gift cards, too.'),
  { role: 'user', content: 'Ship the parcel by rail from LEJ1, not by road.' },
  say(prose(900)),
  say('Next I change checkLimit in src/orders/refund.ts.'),
];

/** A line of a model in a section, and the words of the log that the summary then has there. */
const TRUE_LINES: readonly (readonly [section: string, line: string, quoted: string])[] = [
  ['goal', 'Fix the refund of order #W8834521.', 'user 1: Fix the refund of order #W8834521. Never touch'],
  ['requests', 'Ship the parcel by rail from LEJ1', 'user 14: Ship the parcel by rail from LEJ1, not by road.'],
  ['constraints', 'Never touch the table customers.', 'Never touch the table customers.'],
  ['constraints', 'Répondez en français.', 'Répondez en français.'],
  ['facts', 'The refund of order #W8834521 fails with E_LIMIT.', 'agent 2: The refund of order #W8834521 fails'],
  ['facts', 'Order #W8834521: refund fails, E_LIMIT', 'fails with E_LIMIT'],
  ['facts', 'maxRefundCents = 125000', '← export const maxRefundCents = 125000;'],
  ['facts', '- The constant maxRefundCents is 125000', 'maxRefundCents = 125000'],
  ['facts', 'retries = 3', 'retries = 3'],
  ['facts', 'The order is "delivered", with a total of 1299.5', '1299.5'],
  ['facts', '"warehouse":"LEJ1"', '"LEJ1"'],
  ['facts', '`SELECT status, total FROM orders WHERE id = 8834521`', 'SELECT status, total FROM orders'],
  ['facts', 'Das Lager LEJ1 liefert erst am 4. Mai wieder aus.', 'Das Lager LEJ1 liefert erst am 4. Mai wieder aus.'],
  ['facts', '仓库 LEJ1 的库存是 17 件。', '仓库 LEJ1 的库存是 17 件。'],
  ['facts', '返金の上限は125000です。', '返金の上限は125000です。'],
  ['state', 'Tests: 3 failed, 42 passed', '← Tests: 3 failed, 42 passed'],
  ['state', '42 passed, 3 failed', '3 failed, 42 passed'],
  ['state', 'Three tests still fail.', 'Three tests still fail.'],
  ['failures', 'refund.test.ts:41 failed', 'FAIL test/orders/refund.test.ts:41'],
  ['failures', 'the mailbox is full', '← the mailbox is full'],
  ['decisions', 'Call applyPriceTable first, because the limit is in euro', 'I decided to call applyPriceTable first'],
  [
    'decisions',
    'The limit is in euro and the price in dollars, so applyPriceTable comes first',
    'applyPriceTable first',
  ],
  ['open', 'Does the limit hold for gift cards?', 'It is open whether the limit holds for gift cards, too.'],
  ['next', 'Change checkLimit in src/orders/refund.ts.', 'Next I change checkLimit in src/orders/refund.ts.'],
  ['next', 'agent 16: Next I change checkLimit', 'agent 16: Next I change checkLimit in src/orders/refund.ts.'],
];

async function summarize(content: string): Promise<string> {
  const world = await openWorld({ decide: () => ({ content }) });
  const answer = await world.summarize({ messages: MESSAGES, range: { from: 1, to: MESSAGES.length }, maxTokens: 900 });
  return (answer as { text?: string }).text ?? '';
}

function sectionOf(text: string, heading: string): string {
  return new RegExp(`(?:^|\\n)${heading}\\n([\\s\\S]*?)(?=\\n## |$)`).exec(text)?.[1] ?? '';
}

const HEADINGS: Readonly<Record<string, string>> = {
  goal: '## Goal',
  requests: '## User requests',
  constraints: '## Constraints',
  facts: '## Facts',
  state: '## State',
  failures: '## Failed attempts',
  decisions: '## Decisions',
  open: '## Open questions',
  next: '## Next step',
};

it.each(TRUE_LINES)(
  'a true line in the section %s is replaced by the words of the log: %s',
  async (section, line, quoted) => {
    const heading = HEADINGS[section] as string;
    expect(sectionOf(await summarize(`${heading}\n${line}`), heading)).toContain(quoted);
  },
);

it('a summary of true lines keeps all of them, and quotes each place of the log once', async () => {
  const sections = Object.entries(HEADINGS).map(
    ([section, heading]) =>
      `${heading}\n${TRUE_LINES.flatMap(([of, line]) => (of === section ? [line] : [])).join('\n')}`,
  );
  const text = await summarize(sections.join('\n'));
  const lost = TRUE_LINES.filter(
    ([, , quoted]) => !text.replaceAll(' …', '').includes(quoted.replace(/^[←\w]+ (?:\d+: )?/, '')),
  );
  expect(lost).toEqual([]);
  for (const line of text.split('\n').filter((own) => own.startsWith('user ')))
    expect(text.split(line)).toHaveLength(2);
});

it('a summary quotes records of one message in one line, with marks for the gaps between them', async () => {
  const text = await summarize('## Facts\nmaxRefundCents = 125000\nimport { limits } from "./limits"\nretries = 3');
  expect(
    sectionOf(text, '## Facts')
      .split('\n')
      .filter((line) => line.startsWith('←')),
  ).toHaveLength(1);
});

it('a summary quotes the newest place of the log if several places have the same words', async () => {
  const world = await openWorld({ decide: () => ({ content: '## State\nThe gate is open.' }) });
  const messages = [say('The gate is open.'), say(prose(400)), say('The gate is open.')];
  const answer = await world.summarize({ messages });
  expect((answer as { text: string }).text).toMatch(/^## State\nagent 13: The gate is open\./);
});
