import { expect, test } from 'vitest';
import { contextSize, NO_OVERHEAD } from '../../src/domain/size.ts';
import { decodeConversation } from '../../src/store/conversation-record.ts';
import { RecordFields } from '../../src/store/records.ts';

const COUNTED = 30_503;

/** Size of a conversation with this anchor at its head. */
function sizeWith(anchor: string): number {
  const fields = { head: '12', headTokens: `${COUNTED}`, headBytes: '90000', version: '0', anchor };
  return contextSize(decodeConversation(new RecordFields('c', new Map(Object.entries(fields)))).size, NO_OVERHEAD)
    .tokens;
}

const OURS = COUNTED + 3;

test.each([
  ['no number', `12 NaN 0 ${COUNTED} 90000 `, OURS],
  ['an answer alone: the provider told nothing of the request', `12 20 0 ${COUNTED} 90000 a1b2`, OURS],
  ['half of our count', `12 15300 0 ${COUNTED} 90000 a1b2`, 15_300],
  ['more than our count', `12 40000 0 ${COUNTED} 90000 `, 40_000],
  ['less, held against our count when it was recorded', `12 7800 0 ${COUNTED} 90000 a1b2 whole`, 7_800],
  ['the same, without a setup', `12 7800 0 ${COUNTED} 90000  whole`, 7_800],
])('an anchor that holds %s', (_, anchor, tokens) => {
  expect(sizeWith(anchor)).toBe(tokens);
});
