import { expect, test } from 'vitest';
import { readLedger } from '../../../src/compaction/evidence/ledger.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { findStale } from '../../../src/summarize/structural/stale-lines.ts';
import { round, say } from '../summarizer/fixture.ts';

/** Lists the texts that later texts make useless. */
function staleTexts(messages: readonly Message[], mayStay = (_message: number): boolean => true): string[] {
  const { fragments } = runToEnd(readLedger(messages));
  const { stale } = runToEnd(findStale({ messages, fragments, mayStay }));
  return fragments.filter((_, index) => stale[index] === 1).map(({ text }) => text.trim());
}

/** Lists how often lines were said, by the last such line. */
function repeatedTexts(messages: readonly Message[]): (readonly [string | undefined, number])[] {
  const { fragments } = runToEnd(readLedger(messages));
  const { repeated } = runToEnd(findStale({ messages, fragments, mayStay: () => true }));
  return [...repeated].filter(([, times]) => times > 1).map(([index, times]) => [fragments[index]?.text, times]);
}

const look = (id: string, order: string, result: string): Message[] =>
  round({ id, name: 'get_order', given: { order }, result });
const LINE = 'the wagon W-4711 leaves at nine';

test('old lines of an edit in the words of an agent are useless, and the lines around them are not', () => {
  const edit = 'I change it.\n\n<<<<<<< SEARCH\nlimit = 1\nretry(1)\n=======\nlimit = 2\n>>>>>>> REPLACE\n\nDone.';
  expect(staleTexts([say(edit)])).toEqual(['limit = 1', 'retry(1)']);
  expect(staleTexts(look('a', 'W1', edit))).toEqual([]);
});

test('a repeated line of the agent stays at its last place, and of the user at its first place', () => {
  expect(staleTexts([say(LINE), say('Something else.'), say(LINE)])).toEqual([LINE]);
  const messages: Message[] = [
    { role: 'user', content: LINE },
    { role: 'user', content: LINE },
  ];
  const { fragments } = runToEnd(readLedger(messages));
  expect([...runToEnd(findStale({ messages, fragments, mayStay: () => true })).stale]).toEqual([0, 1]);
});

test('a line is not repeated by a message that leaves the context', () => {
  expect(staleTexts([say(LINE), say(LINE)], (message) => message === 0)).toEqual([]);
});

test('a value is useless once a later result of the same subject has all of its keys', () => {
  expect(staleTexts([...look('a', 'W1', 'status: open'), ...look('b', 'W1', 'status: paid')])).toContain(
    'status: open',
  );
  expect(staleTexts([...look('a', 'W1', 'status: open'), ...look('b', 'W2', 'status: paid')])).toEqual([]);
});

test('a short line of a result may describe several things, so it never counts as repeated', () => {
  expect(staleTexts([...look('a', 'W1', 'paid'), ...look('b', 'W2', 'paid')])).toEqual([]);
});

const DENIED = 'sudo: a password is required';
const install = (id: string, hook: string, result = DENIED): Message[] =>
  round({ id, name: 'bash', given: { command: `sudo install hooks/${hook}` }, result });

test('equal errors of different calls are different outcomes, and of the same call they are counted', () => {
  expect(staleTexts([...install('a', 'pre-push'), ...install('b', 'pre-merge')])).not.toContain(DENIED);
  const thrice = [...install('a', 'pre-push'), ...install('b', 'pre-push'), ...install('c', 'pre-push')];
  expect(staleTexts(thrice).filter((text) => text === DENIED)).toHaveLength(2);
  expect(repeatedTexts(thrice)).toContainEqual([DENIED, 3]);
});

test('a carried outcome of a summary adds its count to the count of the same call', () => {
  const carried: Message = {
    role: 'summary',
    content: `→ bash command: sudo install hooks/pre-push\n← ${DENIED} (×4)`,
  };
  expect(repeatedTexts([carried, ...install('a', 'pre-push')])).toEqual([[DENIED, 5]]);
});
