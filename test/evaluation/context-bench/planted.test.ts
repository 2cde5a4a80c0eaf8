import { describe, expect, test } from 'vitest';
import { FACT_KINDS, isKept, plantFacts, writeFacts } from '../../../bench/context/planted.ts';
import type { Message } from '../../../src/domain/message.ts';
import { renderMessages } from '../../../src/evaluation/quality/searchable-text.ts';
import { round, says, user } from '../quality/conversation.ts';

const source: Message[] = [
  user('start'),
  ...Array.from({ length: 12 }, (_, index) => [...round({ path: `p${index}` }, 'a\nb\nc'), says('done')]).flat(),
];
const seeds = Array.from({ length: 30 }, (_, seed) => seed);

describe('planted facts', () => {
  test('writeFacts writes one planted fact of each kind, the same in each run and other names for each seed', () => {
    expect(writeFacts(3).map(({ kind }) => kind)).toEqual(FACT_KINDS);
    expect(writeFacts(3)).toEqual(writeFacts(3));
    const rules = seeds.map((seed) => writeFacts(seed)[0]?.text);
    expect(new Set(rules).size).toBe(seeds.length);
  });

  test.each(seeds)(
    'each planted fact contains its own keys and no placeholder, and the conversation does not contain it before (seed %i)',
    (seed) => {
      for (const fact of writeFacts(seed)) {
        expect(fact.text).not.toMatch(/\{\w+\}/);
        expect({ fact, isKept: isKept(fact.text, fact) }).toEqual({ fact, isKept: true });
        expect(isKept(renderMessages(source), fact)).toBe(false);
      }
    },
  );

  test.each(seeds)(
    'plantFacts puts all facts into the conversation without splitting tool rounds (seed %i)',
    (seed) => {
      const facts = writeFacts(seed);
      const planted = plantFacts(source, facts);
      const text = renderMessages(planted);
      for (const fact of facts) expect(isKept(text, fact)).toBe(true);
      planted.forEach(({ role }, index) => {
        if (role === 'tool') expect(planted[index - 1]?.toolCalls).toHaveLength(1);
      });
    },
  );

  test('a planted fact counts as lost if its keys stand far apart', () => {
    const fact = { kind: 'implicit wish', role: 'user', text: '', keys: ['phone', 'walls'] } as const;
    expect(isKept('phone and walls', fact)).toBe(true);
    expect(isKept(`phone ${'x '.repeat(200)} walls`, fact)).toBe(false);
    expect(isKept('telephones and walls', fact)).toBe(false);
  });
});
