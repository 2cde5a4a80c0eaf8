import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  listKnown,
  readChatRequest,
  readMessageAnswers,
  readNamedDecisions,
} from '../../src/api/http/ai-sdk/chat-request.ts';
import { chooseSent } from '../../src/chat/sent-messages.ts';
import type { TransportMessage } from '../../src/chat/transport-types.ts';
import type { WaitingCall } from '../../src/domain/turn.ts';

const CALLS = ['c1', 'c2'];

/** A step as a page holds it. */
const step = fc.record({
  text: fc.boolean(),
  calls: fc.subarray(CALLS),
  state: fc.constantFrom('input-available', 'approval-requested', 'approval-responded', 'output-available'),
  isRestarted: fc.boolean(),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function writeStep({ text, calls, state, isRestarted }: Step, at: number): object[] {
  return [
    { type: 'step-start' },
    ...(text ? [{ type: 'text', text: `t${at}` }] : []),
    ...calls.map((call) => ({
      type: 'dynamic-tool',
      toolName: 'look',
      toolCallId: `${call}.${at}`,
      input: {},
      state,
      approval: { id: `${call}.${at}#h`, ...(state === 'approval-responded' && { approved: true }) },
      ...(state === 'output-available' && { output: 'o'.repeat(20) }),
    })),
    ...(isRestarted ? [{ type: 'data-restart', data: `${at}` }] : []),
  ];
}

const picture = { type: 'file', mediaType: 'image/png', url: `data:image/png;base64,${'A'.repeat(200)}` };

const user = fc.boolean().map((hasPicture) => {
  return { role: 'user', parts: [...(hasPicture ? [picture] : []), { type: 'text', text: 'q' }] } as const;
});
const assistant = fc.tuple(fc.array(step, { maxLength: 3 }), fc.boolean()).map(([steps, hasPicture]) => {
  return { role: 'assistant', parts: [...(hasPicture ? [picture] : []), ...steps.flatMap(writeStep)] } as const;
});

const requests = fc
  .record({
    roles: fc.array(fc.oneof(user, assistant), { minLength: 1, maxLength: 7 }),
    named: fc.option(fc.nat(6), { nil: undefined }),
    trigger: fc.constantFrom('submit-message' as const, 'regenerate-message' as const),
  })
  .map(({ roles, named, trigger }) => {
    const messages = roles.map((message, at) => ({ ...message, id: `m${at}` })) as TransportMessage[];
    const messageId = named === undefined ? undefined : `m${named % messages.length}`;
    return { messages, messageId, trigger };
  });

/** All that the server takes from a request, with the calls of one turn open. */
function readAll(messages: readonly object[], sent: { messageId: string | undefined; trigger: string }, turn: string) {
  const request = readChatRequest({ id: 'c', ...sent, messages });
  const answer = request.findAnswer(turn);
  const parts = answer?.parts ?? [];
  const restarted = new Set(parts.flatMap(({ type, data }) => (type === 'data-restart' ? [data] : [])));
  // A turn waits for calls of its last step only.
  const steps = parts.flatMap(({ toolCallId, text }) => (toolCallId ?? text)?.match(/\d+$/) ?? []);
  const last = steps.findLast((at) => !restarted.has(at));
  const calls = parts.flatMap(({ toolCallId: id }) =>
    id?.endsWith(`.${last}`) ? [{ id, name: 'look', arguments: {} }] : [],
  );
  const { message, others } = request;
  return {
    message: message.role === 'user' ? message : [message.id, listKnown(message), readNamedDecisions(message)],
    others,
    answers: answer && readMessageAnswers(answer, 'approval', calls as unknown as WaitingCall[]),
  };
}

test('the server reads the same from the messages that are sent as from the whole history', () => {
  const waiting = fc.nat(6);
  fc.assert(
    fc.property(requests, waiting, ({ messages, ...sent }, at) => {
      const chosen = chooseSent({ messages, ...sent });
      const of = (list: readonly object[]) => {
        try {
          const { answers, ...rest } = readAll(list, sent, `m${at % messages.length}`);
          return { ...rest, answers: Object.keys(answers ?? {}).length === 0 ? undefined : answers };
        } catch (error) {
          return (error as Error).message.replace(/messages\[\d+\]/, 'messages');
        }
      };
      expect(of(chosen)).toEqual(of(messages));
    }),
    { numRuns: 2_000 },
  );
});

test('pictures of answered messages are not sent again', () => {
  const question = (id: string): TransportMessage => ({ id, role: 'user', parts: [picture] });
  const answer: TransportMessage = { id: 'm1.1', role: 'assistant', parts: [{ type: 'step-start' }, picture] };
  const sent = { messageId: undefined, trigger: 'submit-message' } as const;
  const messages = [question('m1'), answer, question('m2')];
  expect(chooseSent({ messages, ...sent })).toEqual([question('m2')]);
});
