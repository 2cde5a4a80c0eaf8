import { z } from 'zod';
import { fieldError, isTurnfoldError } from '../../../domain/errors.ts';
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
  const accepted = { turn, messageId: message.id };
  const given = readUserInput(message, 'message');
  const isRepeated = (await readTurn(backend, conversation, turn)) !== undefined;
  // The page may not have the files of the message that waits, so a repeated request cannot be compared.
  if (replaces !== undefined && isRepeated) return accepted;
  const queued = replaces === undefined ? undefined : await findQueued(backend, conversation, { replaces, by: turn });
  const input = queued?.input ?? given;
  let isSteering = onBusy === 'steer';
  if (!isRepeated) {
    const { agent } = backend;
    await checkMessages(backend, { conversation, agent, texts: [input.text], field: 'id', textField: 'message' });
    if ((await meetWait(backend, conversation, whileWaiting, 'message')) === 'steer') isSteering = true;
  }
  if (queued !== undefined) await replace(backend, conversation, { turn: queued.turn, by: turn });
  await beginTurn(backend, { conversation, turn, input, isSteering });
  return accepted;
}

interface Queued {
  readonly turn: string;
  /** Text and files of the message. Absent if an earlier attempt of the request has canceled the turn. */
  readonly input?: ChatInput;
}

/**
 * Finds the turn of a message that waits.
 * @throws not_found, conflict if its turn has begun, or has ended and was not replaced by the turn `by`
 */
async function findQueued(
  backend: Backend,
  conversation: string,
  { replaces, by }: { readonly replaces: string; readonly by: string },
): Promise<Queued> {
  const { turns } = (await readOpenTurns(backend, conversation, { limit: 1_000, inputs: true })) ?? { turns: [] };
  const queued = turns.find(({ turn }) => nameUserMessage(turn) === replaces);
  if (queued === undefined) {
    const turn = nameTurn(replaces, 1);
    const before = await readTurn(backend, conversation, turn);
    if (before?.state !== 'canceled') {
      throw fieldError(before === undefined ? 'not_found' : 'conflict', 'replaces', `no message ${replaces} waits`);
    }
    await replace(backend, conversation, { turn, by });
    return { turn };
  }
  const { turn, state, input: text, inputParts } = queued;
  if (text === undefined || state === 'running' || state === 'waiting') {
    throw fieldError('conflict', 'replaces', `a worker has begun the turn of message ${replaces}`);
  }
  return { turn, input: { text, ...(inputParts && { parts: inputParts as readonly InputPart[] }) } };
}

/** Cancels a turn that no worker has begun. A turn that this request has canceled before stays as it is. */
async function replace(
  { client, nameOf }: Backend,
  conversation: string,
  { turn, by }: { readonly turn: string; readonly by: string },
): Promise<void> {
  await client.cancel(nameOf(conversation), turn, { replacedBy: by }).catch((error: unknown) => {
    if (!isTurnfoldError(error, 'conflict')) throw error;
    throw fieldError('conflict', 'replaces', error.reason, { cause: error });
  });
}

export const acceptedSchema = z.looseObject({ turn: idSchema, messageId: idSchema });
