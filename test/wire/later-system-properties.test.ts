import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Message } from '../../src/domain/message.ts';
import { countRuns } from '../setup/count-runs.ts';
import { ROUTES } from './routes.ts';

const RUNS = { numRuns: countRuns(200) };

const TURN: fc.Arbitrary<readonly Message[]> = fc
  .record({
    before: fc.boolean(),
    behind: fc.boolean(),
    hasCall: fc.boolean(),
    inside: fc.boolean(),
  })
  .map(({ before, behind, hasCall, inside }) => [
    ...(before ? [told('The time is 10.')] : []),
    { role: 'user', content: 'And now?' },
    ...(behind ? [told('Answer in German.'), told('Be brief.')] : []),
    ...(hasCall ? [called(), result()] : []),
    ...(hasCall && inside ? [told('The disk is full.')] : []),
    { role: 'assistant', content: 'Done.' },
  ]);

let calls = 0;

function told(content: string): Message {
  return { role: 'system', content };
}

function called(): Message {
  calls += 1;
  return { role: 'assistant', content: '', toolCalls: [{ id: `c${calls}`, name: 'read', arguments: '{}' }] };
}

function result(): Message {
  return { role: 'tool', toolCallId: `c${calls}`, content: 'found' };
}

interface Body {
  readonly system?: unknown;
  readonly instructions?: unknown;
  readonly messages?: readonly unknown[];
  readonly input?: readonly unknown[];
}

test.each(ROUTES)(
  'a request in the format $name with later system messages starts with the whole previous request',
  ({ render }) => {
    const bodyOf = (messages: readonly Message[]): Body =>
      withoutMarks(render({ model: 'm', system: 'You read.', tools: [], messages, maxOutputTokens: 4_096 }));
    fc.assert(
      fc.property(fc.array(TURN, { minLength: 1, maxLength: 8 }), (turns) => {
        const log = turns.flat();
        const answers = log.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
        const requests = answers.map((end) => bodyOf(log.slice(0, end)));
        for (const [index, { messages, input, system, instructions }] of requests.slice(0, -1).entries()) {
          const later = requests[index + 1] as Body;
          const sent = messages ?? input ?? [];
          expect((later.messages ?? later.input ?? []).slice(0, sent.length)).toEqual(sent);
          expect([later.system, later.instructions]).toEqual([system, instructions]);
        }
      }),
      RUNS,
    );
  },
);

/** The marks of the provider's cache move with the end of the request. */
function withoutMarks(body: unknown): Body {
  return JSON.parse(
    JSON.stringify(body, (key, value: unknown) => (key === 'cache_control' ? undefined : value)),
  ) as Body;
}
