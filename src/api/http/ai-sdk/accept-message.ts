import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages, readTurn } from '../front-end/reads.ts';
import { pageMessageSchema, readUserInput } from './chat-request.ts';
import { beginTurn, nameTurn } from './turn-names.ts';
import { meetWait, type WhileWaiting } from './while-waiting.ts';

export const messageRequestSchema = z
  .strictObject({
    message: pageMessageSchema.describe("The user's message. Its id makes the request repeatable."),
    onBusy: z
      .enum(['enqueue', 'steer'])
      .default('enqueue')
      .describe('`steer`: the message joins the running turn before its next model call. `enqueue`: the next turn.'),
  })
  .meta({
    id: 'ChatMessage',
    examples: [
      { message: { id: 'm2', role: 'user', parts: [{ type: 'text', text: 'Make it short.' }] }, onBusy: 'steer' },
    ],
  });

/** Accepts a message without a stream. A repeated request changes nothing. */
export async function acceptMessage(
  backend: Backend,
  {
    id: conversation,
    body,
    whileWaiting,
  }: { readonly id: string; readonly body: unknown; readonly whileWaiting: WhileWaiting },
): Promise<{ readonly turn: string; readonly messageId: string }> {
  const { message, onBusy } = parseInput(messageRequestSchema, body);
  const input = readUserInput(message, 'message');
  const turn = nameTurn(message.id, 1);
  let isSteering = onBusy === 'steer';
  if ((await readTurn(backend, conversation, turn)) === undefined) {
    const { agent } = backend;
    await checkMessages(backend, { conversation, agent, texts: [input.text], field: 'id', textField: 'message' });
    if ((await meetWait(backend, conversation, whileWaiting, 'message')) === 'steer') isSteering = true;
  }
  await beginTurn(backend, { conversation, turn, input, isSteering });
  return { turn, messageId: message.id };
}

export const acceptedSchema = z.looseObject({ turn: idSchema, messageId: idSchema });
