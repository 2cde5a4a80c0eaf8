import { expect, test } from 'vitest';
import { foldRepeats } from '../../../src/workers/summarization/user-repeats.ts';

const LOG = 'ERROR the disk of the build machine is full, so the job 4711 was stopped by the scheduler.';

function folded(...texts: string[]): string[] {
  return foldRepeats(texts.map((text, index) => ({ seq: index + 1, text }))).map(({ text }) => text);
}

test.each([
  ['the same paste', LOG],
  ['a quoted reply', `> ${LOG}`],
  ['the same words with other blanks', LOG.replaceAll(' ', '  ')],
  ['the same words with other line ends', LOG.replace('so the', '\nso the')],
])('a message with %s names the earlier message instead', (_, again) => {
  expect(folded(LOG, 'Look.', `${again}\n\nStill there.`)).toEqual([LOG, 'Look.', '(as in 1)\nStill there.']);
});

test('a short repetition stays, because the same short words may mean something else each time', () => {
  expect(folded('Yes, please.', 'Yes, please.')).toEqual(['Yes, please.', 'Yes, please.']);
});
