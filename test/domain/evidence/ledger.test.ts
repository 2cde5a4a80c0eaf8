import { describe, expect, test } from 'vitest';
import { partTexts } from '../../../src/compaction/evidence/fragments.ts';
import { type Ledger, readLedger, type Term } from '../../../src/compaction/evidence/ledger.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';
import { toolResult, user } from '../messages.ts';

function read(...messages: Message[]): Ledger {
  return runToEnd(readLedger(messages));
}

function termOf(ledger: Ledger, text: string): Term {
  const term = ledger.terms.find((one) => one.text === text);
  if (term === undefined) throw new Error(`no term "${text}"`);
  return term;
}

const call = (name: string, args: unknown, id: string): Message => ({
  role: 'assistant',
  content: '',
  toolCalls: [{ id, name, arguments: JSON.stringify(args) }],
});

const talk: Message[] = [
  user('Cancel order W100, please. W100 is late.'),
  call('get_order', { order_id: 'W100' }, 'c2_0'),
  toolResult('c2_0', '{"status": "pending", "total": 1290}'),
  { role: 'assistant', content: 'Order W100 is pending.' },
];

describe('the evidence ledger, which counts where each term of the messages occurs', () => {
  test('the evidence ledger counts the messages that contain a term, not the repetitions, by part (user, statement, call, result)', () => {
    const term = termOf(read(...talk), 'W100');
    expect(term).toMatchObject({ first: 0, firstPart: 'user', last: 3, messages: 3, occurrences: 4 });
    expect(term.messagesByPart).toEqual({ user: 1, statement: 1, call: 1, result: 0 });
    expect(term.lastByPart).toEqual({ user: 0, statement: 3, call: 1, result: -1 });
  });

  test('the evidence ledger counts one message if both the text and the tool call of this message contain a term', () => {
    const said: Message = { ...call('get_order', { order_id: 'W100' }, 'c1_0'), content: 'I look up W100.' };
    const term = termOf(read(said), 'W100');
    expect(term.messages).toBe(1);
    expect(term.messagesByPart).toMatchObject({ statement: 1, call: 1 });
  });

  test('the evidence ledger notes whether a term occurs as a key or as a value, quoted or not', () => {
    const ledger = read(...talk, user('total=1290'));
    expect(termOf(ledger, 'status')).toMatchObject({ asKey: 1, asValue: 0 });
    expect(termOf(ledger, 'pending')).toMatchObject({ asKey: 0, asValue: 1 });
    expect(termOf(ledger, 'total')).toMatchObject({ asKey: 2, occurrences: 2 });
    expect(termOf(ledger, '1290')).toMatchObject({ asValue: 2, occurrences: 2 });
  });

  test('the evidence ledger marks terms that a failed tool call returned', () => {
    const ledger = read(toolResult('c1_0', 'ENOENT config.json', { isError: true }), user('why'));
    expect(termOf(ledger, 'ENOENT').isInError).toBe(true);
    expect(termOf(ledger, 'why').isInError).toBe(false);
  });

  test('the evidence ledger lists each term of a fragment once, and its positions lead back to the text of the fragment', () => {
    const { fragments, terms } = read(...talk);
    expect(fragments[0]?.terms.map((index) => terms[index]?.text)).toEqual([
      'Cancel',
      'order',
      'W100',
      'please',
      'late',
    ]);
    expect(fragments.map(({ message, part, partIndex }) => [message, part, partIndex])).toEqual([
      [0, 'user', 0],
      [1, 'call', 0],
      [2, 'result', 0],
      [3, 'statement', 0],
    ]);
    const bare = (text: string): string => text.replaceAll(' ', '');
    for (const { message, partIndex, text, start, end } of fragments)
      expect(bare(text)).toBe(bare(partTexts(talk[message] as Message)[partIndex]?.text.slice(start, end) ?? ''));
  });

  test('the evidence ledger names the last assistant message and the results that a repeated call made stale', () => {
    const twice = [call('ls', {}, 'c1_0'), toolResult('c1_0'), call('ls', {}, 'c3_0'), toolResult('c3_0')];
    expect(read(...twice)).toMatchObject({ messages: 4, lastAgent: 2, superseded: new Set([1]) });
    expect(read(user('hello')).lastAgent).toBe(-1);
  });

  test('the evidence ledger is the same whether or not its reading was interrupted', () => {
    const messages = Array.from({ length: 200 }, (_, index) => user(`line ${index}\n`.repeat(40)));
    const slices = readLedger(messages);
    let count = 0;
    for (let slice = slices.next(); ; slice = slices.next()) {
      count += 1;
      if (slice.done !== true) continue;
      expect(slice.value).toEqual(read(...messages));
      break;
    }
    expect(count).toBeGreaterThan(4);
  });
});
