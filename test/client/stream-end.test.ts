import { expect, test } from 'vitest';
import type { ClientPorts } from '../../src/client/ports.ts';
import { streamTurn, type TurnProgress } from '../../src/client/stream.ts';
import type { TextDelta } from '../../src/domain/ports/text-deltas.ts';
import type { TurnView } from '../../src/domain/turn.ts';

const answer = { seq: 2, content: 'x' };
const common = { turn: 't1', agent: 'a', acceptedAt: 1, requestTokens: [] };
const view: TurnView = { ...common, state: 'completed', settledAt: 2, answer };

/** Follows a settled turn while its deltas are still in transit. */
async function follow(late: readonly TextDelta[]): Promise<{ parts: TurnProgress[]; listeners: number }> {
  let listeners = 0;
  const ports = {
    now: () => 0,
    turns: { readTurn: async () => view },
    texts: {
      listen: (_: unknown, hear: (delta: TextDelta) => void) => {
        listeners += 1;
        return {
          catchUp: async () => late.forEach(hear),
          stop: () => {
            listeners -= 1;
          },
        };
      },
    },
  } as unknown as ClientPorts;
  const parts: TurnProgress[] = [];
  for await (const part of streamTurn(ports, 'c1', 't1')) parts.push(part);
  return { parts, listeners };
}

test('a stream delivers the text that is still in transit when the turn settles before the result', async () => {
  const late = [{ turn: 't1', step: 1, epoch: 1, offset: 0, piece: 'It is blue.' }];
  expect(await follow(late)).toEqual({
    parts: [
      { type: 'text', step: 1, piece: 'It is blue.' },
      { type: 'result', view },
    ],
    listeners: 0,
  });
});

test('a stream that lost every piece of text still delivers the result of the turn', async () => {
  expect(await follow([])).toEqual({ parts: [{ type: 'result', view }], listeners: 0 });
});
