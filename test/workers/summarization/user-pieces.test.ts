import { expect, test } from 'vitest';
import { readPieces, writeRanges } from '../../../src/workers/summarization/user-pieces.ts';

async function rulesOf(text: string): Promise<string[]> {
  const pieces = await readPieces(text);
  return pieces.filter(({ sign }) => sign !== undefined).map(({ start, end }) => text.slice(start, end).trim());
}

test('a sentence of a message is a piece of its own, and a rule in it is found', async () => {
  const text =
    'The shop was moved last week and it looks fine. Never delete any of the old orders of the year 2019. It rained all day today.';
  expect(await rulesOf(text)).toEqual(['Never delete any of the old orders of the year 2019.']);
});

test('a condition stays with the sentence that it limits', async () => {
  const text = 'Please remove the table customers of the old shop. But only if the backup is complete and tested.';
  expect(await rulesOf(text)).toEqual([text]);
});

test('code, quoted lines and fenced text state no rules', async () => {
  const text = ['> You must pay at once.', '```', 'must never happen here', '```', '{"note": "never", "a": 1}'].join(
    '\n',
  );
  expect(await rulesOf(text)).toEqual([]);
});

test('the items of a list share the prohibition of the line before the list', async () => {
  const text = 'Never do any of these:\n- delete the table\n- rename the shop';
  expect(await rulesOf(text)).toEqual(['Never do any of these:', '- delete the table', '- rename the shop']);
});

test('ranges of a text are written with a gap wherever words are left out', () => {
  expect(
    writeRanges('One. Two. Three. Four.', [
      [5, 9],
      [17, 22],
    ]),
  ).toBe('… Two. … Four.');
});
