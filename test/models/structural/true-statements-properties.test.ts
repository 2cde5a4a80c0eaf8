import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { chooseExcerpts } from '../../../src/compaction/choose-excerpts.ts';
import { contextOfLog } from '../../../src/compaction/context.ts';
import { readEvidence } from '../../../src/compaction/context-evidence.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { buildLog, type Message } from '../../../src/domain/message.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import { copyUserTexts } from '../../../src/workers/summarization/user-texts.ts';
import { weighText } from '../../domain/passes.ts';
import { countRuns } from '../../setup/count-runs.ts';
import { ballast, type Fixture, openFixture, round, say, summary } from './sequence-messages.ts';
import { anyRecords, FORMS, isTrue, readStatements, type SourceRecord } from './stated-fields.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});

const MIN_STATEMENTS = countRuns(30_000);
let stated = 0;

/** Finds what a text says falsely about the records, as a reader takes it. */
function findFalse(text: string, records: readonly SourceRecord[]): string[] {
  const statements = readStatements(text);
  stated += statements.length;
  return statements.filter((one) => !isTrue(one, records)).map((one) => JSON.stringify(one));
}

const anyBudget = fc.integer({ min: 40, max: 900 });

const common = { customer: 'Alba Freight', status: 'paid', clerk: 'T. Mori', amount: '1' };
const oslo: SourceRecord = { id: 'INV-1000', fields: { ...common, city: 'Oslo' } };
const dunes: SourceRecord = { id: 'INV-1000', fields: { ...oslo.fields, customer: 'Dunes Hotel', amount: '1001' } };
const kyoto: SourceRecord = { id: 'INV-1001', fields: { ...common, city: 'Kyoto' } };
/** Records with budgets for which a field once stood below the wrong name. */
const FOUND: [readonly SourceRecord[], number][] = [
  [[oslo, kyoto], 40],
  [[oslo, kyoto], 47],
  [[oslo, kyoto], 52],
  [[dunes, kyoto], 47],
];

function messagesOf(text: string): Message[] {
  return [
    say('I will list the invoices.'),
    ...round({ id: 'c1', name: 'list_invoices', given: { year: 2026 }, result: text }),
    say('I have the list. Which clerk should I ask about the overdue ones?'),
    ballast(120),
  ];
}

describe.each(FORMS)('records (values of named things) in $name', ({ name, write }) => {
  test('a structural summary never connects a value with a record that does not have this value in the source', async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, anyBudget, async (records, maxTokens) => {
        const text = await fixture.write({ messages: messagesOf(write(records)), maxTokens });
        expect(findFalse(text, records), text).toEqual([]);
      }),
      { numRuns: countRuns(160), examples: FOUND },
    );
  });

  test('a summary of a summary never connects a value with a record that does not have this value in the source', async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, anyBudget, async (records, maxTokens) => {
        const first = await fixture.write({ messages: messagesOf(write(records)), maxTokens: 2 * maxTokens });
        const answer = await fixture.summarize({ messages: [summary(first), ballast(120)], maxTokens });
        expect(answer.status === 'written' ? findFalse(answer.text, records) : []).toEqual([]);
      }),
      { numRuns: countRuns(100), examples: FOUND },
    );
  });

  // The form names a record behind its fields, so that the start of a cut record is nameless.
  test.skipIf(name === 'nested JSON')(
    'a clipped user text never connects a value with a record that does not have this value in the text',
    async () => {
      await fc.assert(
        fc.asyncProperty(anyRecords, anyBudget, async (records, maxTokens) => {
          const messages: Message[] = [{ role: 'user', content: write(records) }];
          const log = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
          const copied = (await copyUserTexts(fixture.counter, log, { maxTokens })) ?? '';
          // A value before the gap may be cut off, and so may the name of the only record that stays.
          const said = findFalse(copied.replace(/^1: /m, ''), records).filter((one) => {
            const { id, value } = JSON.parse(one) as { id?: string; value: string };
            return id !== undefined && !copied.includes(`${value} …`) && !copied.includes(`${value}. …`);
          });
          expect(said, copied).toEqual([]);
        }),
        { numRuns: countRuns(100), examples: FOUND },
      );
    },
  );

  test('a summary with a clipped user text never connects a value with a record that does not have this value in the text', async () => {
    await fc.assert(
      fc.asyncProperty(anyRecords, anyBudget, async (records, maxTokens) => {
        const messages: Message[] = [{ role: 'user', content: write(records) }, ballast(120)];
        const log = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
        const userTexts = (await copyUserTexts(fixture.counter, log, { maxTokens })) ?? '';
        const answer = await fixture.summarize({ messages, maxTokens, userTexts });
        const text = answer.status === 'written' ? answer.text.replaceAll(/^user \d+: (?:… )?/gm, '') : '';
        expect(findFalse(text, records), text).toEqual([]);
      }),
      { numRuns: countRuns(100), examples: FOUND },
    );
  });

  test('an excerpt of a tool result never connects a value with a record that does not have this value in the result', () => {
    fc.assert(
      fc.property(anyRecords, anyBudget, (records, maxTokens) => {
        const messages = messagesOf(write(records));
        const log = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
        const { items } = contextOfLog(log, START_VERSION);
        const large = new Set(items.filter(({ message }) => message.role === 'tool'));
        const evidence = runToEnd(readEvidence(items));
        const made = runToEnd(chooseExcerpts({ items, large, maxTokens, evidence, weigh: weighText }));
        for (const { message } of made.values())
          expect(findFalse(message.content, records), message.content).toEqual([]);
      }),
      { numRuns: countRuns(160), examples: FOUND },
    );
  });
});

test('the property tests of this file checked a sufficient number of statements', () => {
  expect(stated).toBeGreaterThan(MIN_STATEMENTS);
});

describe.each([
  ['in the same block', 'Never do any of these:\n'],
  ['behind a blank line', 'Never do any of these:\n\n'],
  ['in a sentence', 'I read your plan twice, and it is good. Even so, you must never do one of these things.\n'],
  ['of a paragraph', `${'I read your plan twice, and it is good. '.repeat(8)}Even so, you must never do these:\n\n`],
])('list items that a user forbids %s', (_where, head) => {
  const items = Array.from({ length: 30 }, (_, at) => `- delete the table customers_${at} of shop_${at}`);
  const text = `Hello.\n\n${head}${items.join('\n')}\n\nThanks.`;

  test.each([40, 80, 160, 320])(
    'a summary of %i tokens shows forbidden list items only together with the words that forbid them',
    async (maxTokens) => {
      const said: Message = { role: 'user', content: text };
      const log = buildLog([{ message: said, ...weighText(said) }]);
      const copied = (await copyUserTexts(fixture.counter, log, { maxTokens })) ?? '';
      const answer = await fixture.summarize({ messages: [said, ballast(120)], maxTokens, userTexts: copied });
      const shown = [copied, answer.status === 'written' ? answer.text : ''];
      const listed = shown.filter((one) => one.includes('- delete'));
      expect(listed.filter((one) => !/never[\s\S]*- delete/i.test(one))).toEqual([]);
    },
  );
});
