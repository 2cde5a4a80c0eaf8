import { z } from 'zod';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { InputPart } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { checkMessages, readOpenTurns, readTurn } from '../front-end/reads.ts';
import { pageMessageSchema, readUserInput } from './chat-request.ts';
import { nameUserMessage } from './open-chat-turns.ts';
import { beginTurn, type ChatInput, nameTurn } from './turn-names.ts';
import { meetWait, type WhileWaiting } from './while-waiting.ts';

export const messageRequestSchema = z
  .strictObject({
    message: pageMessageSchema.describe("The user's message. Its id makes the request repeatable."),
    onBusy: z
      .enum(['enqueue', 'steer'])
      .default('enqueue')
      .describe('`steer`: the message joins the running turn before its next model call. `enqueue`: the next turn.'),
    replaces: idSchema
      .optional()
      .describe('Id of a message that waits. The new message has its text and files, and its turn is canceled.'),
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
  const { message, onBusy, replaces } = parseInput(messageRequestSchema, body);
  const turn = nameTurn(message.id, 1);
  let input = readUserInput(message, 'message');
  let isSteering = onBusy === 'steer';
  const isRepeated = (await readTurn(backend, conversation, turn)) !== undefined;
  if (!isRepeated) {
    const { agent } = backend;
    await checkMessages(backend, { conversation, agent, texts: [input.text], field: 'id', textField: 'message' });
    if ((await meetWait(backend, conversation, whileWaiting, 'message')) === 'steer') isSteering = true;
  }
  // The page may not have the files of the message that waits, so a repeated request cannot be compared.
  if (replaces !== undefined && isRepeated) return { turn, messageId: message.id };
  if (replaces !== undefined) input = (await takeQueued(backend, conversation, replaces)) ?? input;
  await beginTurn(backend, { conversation, turn, input, isSteering });
  return { turn, messageId: message.id };
}

/**
 * Cancels the turn of a message that waits.
 * @returns text and files of the message. Undefined if an earlier attempt of the request has canceled the turn
 */
async function takeQueued(backend: Backend, conversation: string, message: string): Promise<ChatInput | undefined> {
  const { client, nameOf } = backend;
  const { turns } = (await readOpenTurns(backend, conversation, { limit: 1_000, inputs: true })) ?? { turns: [] };
  const queued = turns.find(({ turn }) => nameUserMessage(turn) === message);
  if (queued === undefined) {
    const before = await readTurn(backend, conversation, nameTurn(message, 1));
    if (before?.state === 'canceled') return undefined;
    throw fieldError(before === undefined ? 'not_found' : 'conflict', 'replaces', `no message ${message} waits`);
  }
  const { turn, state, input: text, inputParts } = queued;
  if (text === undefined || state === 'running' || state === 'waiting') {
    throw fieldError('conflict', 'replaces', `a worker has begun the turn of message ${message}`);
  }
  await client.cancel(nameOf(conversation), turn);
  return { text, ...(inputParts && { parts: inputParts as readonly InputPart[] }) };
}

export const acceptedSchema = z.looseObject({ turn: idSchema, messageId: idSchema });
