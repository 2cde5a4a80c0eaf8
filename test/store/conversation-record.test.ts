import { expect, test } from 'vitest';
import { contextSize, NO_OVERHEAD } from '../../src/domain/size.ts';
import { decodeConversation } from '../../src/store/conversation-record.ts';
import { RecordFields } from '../../src/store/records.ts';

const COUNTED = 30_503;

/** Returns the context size that is computed from this stored size, which a provider counted for the last message. */
function sizeWith(anchor: string): number {
  const fields = { head: '12', headTokens: `${COUNTED}`, headBytes: '90000', version: '0', anchor };
  return contextSize(decodeConversation(new RecordFields('c', new Map(Object.entries(fields)))).size, NO_OVERHEAD)
    .tokens;
}

const OURS = COUNTED + 3;

test.each([
  ['no number, and then ignores it', `12 NaN 0 ${COUNTED} 90000 `, OURS],
  ['the tokens of the answer only, and then ignores it', `12 20 0 ${COUNTED} 90000 a1b2`, OURS],
  ['half of our count, and then uses it', `12 15300 0 ${COUNTED} 90000 a1b2`, 15_300],
  ['more than our count, and then uses it', `12 40000 0 ${COUNTED} 90000 `, 40_000],
  ['a checked count far below ours, and then uses it', `12 7800 0 ${COUNTED} 90000 a1b2 whole`, 7_800],
  ['a checked count and no fingerprint, and then uses it', `12 7800 0 ${COUNTED} 90000  whole`, 7_800],
])('decodeStepState reads the context size from a stored provider count with %s', (_, anchor, tokens) => {
  expect(sizeWith(anchor)).toBe(tokens);
});

test.each(['', '1 2 3', 'a b c d e f g h i j', '1 2 3 4 5 6 7 8 9 -1'])(
  'decodeConversation ignores recorded limits of a request that it cannot read: %j',
  (facts) => {
    const fields = new Map(Object.entries({ head: '1', facts }));
    expect(decodeConversation(new RecordFields('c', fields))).not.toHaveProperty('requestFacts');
  },
);
