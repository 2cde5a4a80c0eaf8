import { describe, expect, test } from 'vitest';
import type { Message, WeighedMessage } from '../../src/domain/message.ts';
import { START_VERSION } from '../../src/domain/version.ts';
import { RecallMeter } from '../../src/evaluation/recall.ts';
import { round, says, user } from './quality/conversation.ts';

const TOKENS = 10;

function weigh(messages: readonly Message[]): WeighedMessage[] {
  return messages.map((message) => ({ message, tokens: TOKENS, bytes: TOKENS }));
}

const before = [user('fix the parser'), ...round({ path: 'src/parser' }, 'parse_header'), says('it uses name_one')];
const after = [...round({ path: 'src/parser' }, 'ok'), says('name_one and parse_header are done, name_two is not')];

/** Measures a context that goes live after `before`, of the size of `windowMessages` messages. */
function measure(context: readonly Message[], { windowMessages = 1, keepFirstUser = true } = {}) {
  const meter = new RecallMeter(weigh([...before, ...after]), { keepFirstUser });
  const items = context.map((message, index) => ({ from: index + 1, to: index + 1, message, tokens: 1, bytes: 1 }));
  const head = before.length;
  meter.measure({ head, context: { version: START_VERSION, head, items } }, windowMessages * TOKENS);
  return meter.recall;
}

describe('recall of a replay', () => {
  test('the recall of a replay counts identifiers that earlier messages contain and that the agent uses after a compaction', () => {
    expect(measure(before)).toMatchObject({ compacted: 1, needles: 3 });
    expect(measure([])).toMatchObject({ compacted: 0, needles: 3 });
  });

  test('the recall of a replay counts identifiers in summaries like identifiers in messages', () => {
    expect(measure([user('src/parser has parse_header')]).compacted).toBeCloseTo(2 / 3, 3);
  });

  test('the recall of a replay is compared with a window of the newest whole groups of the same size', () => {
    expect(measure([], { windowMessages: 1, keepFirstUser: false }).window).toBeCloseTo(1 / 3, 3);
    expect(measure([], { windowMessages: 2, keepFirstUser: false }).window).toBeCloseTo(1 / 3, 3);
    expect(measure([], { windowMessages: 3, keepFirstUser: false }).window).toBe(1);
  });

  test('the compared window of a replay keeps the first user message if the policy keeps this message', () => {
    expect(measure([], { windowMessages: 1 }).window).toBe(0);
    expect(measure([], { windowMessages: 4 }).window).toBe(1);
  });

  test('the recall of a replay is full if the agent uses no earlier identifier', () => {
    expect(new RecallMeter(weigh(before), { keepFirstUser: true }).recall).toEqual({
      compacted: 1,
      window: 1,
      needles: 0,
    });
  });
});
