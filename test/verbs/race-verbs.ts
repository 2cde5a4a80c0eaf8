import { expect } from 'vitest';
import type { CallAnswer, OpenClient, TurnView } from '../../src/api/client/index.ts';
import { isTurnfoldError } from '../../src/domain/errors.ts';
import { isSettled } from '../../src/domain/turn.ts';
import type { Verb } from './run-verbs.ts';
import type { World } from './world.ts';

/** Codes with which a call may fail, because the conversation has changed since the verbs were chosen. */
const REFUSALS = new Set(['conversation_busy', 'conflict', 'turn_running', 'not_found', 'gone', 'invalid_input']);

let conversations = 0;

/**
 * Calls the client without waiting for the workers in between, so each call meets them at another moment. Then ends all
 * turns, and checks what must hold at every speed. Each accepted turn settles with an outcome of its own. Each message
 * is in the log once, and the conversation answers.
 */
export async function raceVerbs(world: World, sequence: readonly Verb[]): Promise<void> {
  conversations += 1;
  const conversation = `r${conversations}`;
  let accepted: string[] = [];
  for (const [at, verb] of sequence.entries()) {
    const turn =
      verb.verb === 'enqueue' ? `${verb.kind}-${at}` : (accepted[pickOf(verb) % Math.max(accepted.length, 1)] ?? '');
    const isDone = await tryVerb(world, { conversation, turn, at }, verb);
    if (verb.verb === 'enqueue' && isDone) accepted.push(turn);
    if (verb.verb === 'erase') accepted = [];
  }
  await tryVerb(
    world,
    { conversation, turn: 'say-last', at: sequence.length },
    {
      verb: 'enqueue',
      kind: 'say',
      onBusy: 'enqueue',
    },
  );
  const views = await Promise.all([...accepted, 'say-last'].map((turn) => endTurn(world, conversation, turn)));
  for (const { turn, state, failure } of views) {
    const isRefused = state === 'failed' && failure?.code === 'model_failed';
    expect({ turn, state, code: failure?.code, isExpected: state !== 'failed' || isRefused }).toMatchObject({
      isExpected: true,
    });
  }
  expect(views.at(-1)).toMatchObject({ state: 'completed' });
  const texts = (await world.client.log(conversation)).flatMap(({ message: { role, content } }) =>
    role === 'user' ? [content] : [],
  );
  expect(texts.toSorted()).toEqual([...new Set(texts)].toSorted());
  expect(world.faults).toEqual([]);
}

function pickOf(verb: Verb): number {
  return 'pick' in verb ? verb.pick : 0;
}

interface Place {
  readonly conversation: string;
  readonly turn: string;
  readonly at: number;
}

/** @returns false if the call was refused for the state of the conversation */
async function tryVerb(world: World, place: Place, verb: Verb): Promise<boolean> {
  try {
    await callVerb(world, place, verb);
    return true;
  } catch (error) {
    if (isTurnfoldError(error) && REFUSALS.has(error.code)) return false;
    throw error;
  }
}

async function callVerb(world: World, { conversation, turn, at }: Place, verb: Verb): Promise<void> {
  const { client } = world;
  switch (verb.verb) {
    case 'enqueue': {
      const input = `${verb.kind} ${turn}`;
      await client.enqueueTurn({ conversation, agent: 'talker', turn, input, onBusy: verb.onBusy });
      return;
    }
    case 'release':
      return world.release(conversation, turn);
    case 'answer':
      return await answer(client, conversation, await client.result(conversation, turn), verb.isApproved);
    case 'cancel':
      await client.cancel(conversation, turn);
      return;
    case 'append': {
      const messages = [{ role: 'user', content: `appended ${at}` }] as const;
      await client.append({ conversation, agent: 'talker', messages });
      return;
    }
    case 'restore': {
      const { size } = await client.describe(conversation);
      await client.restore(conversation, { version: verb.pick % (size.version + 1), newer: verb.newer });
      return;
    }
    case 'rollBackTurn':
      await client.rollBackTurn(conversation, turn);
      return;
    case 'compact':
      await client.compact(conversation);
      return;
    case 'fork':
      await client.fork(conversation, `${conversation}.f${at}`);
      return;
    case 'erase':
      await client.erase(conversation);
      return;
  }
}

async function answer(
  client: OpenClient,
  conversation: string,
  { turn, waiting }: TurnView,
  isApproved: boolean,
): Promise<void> {
  if (waiting === undefined || waiting.calls.length === 0) return;
  const given: CallAnswer = waiting.for === 'approval' ? { approved: isApproved } : { content: 'answered' };
  await client.answer(
    conversation,
    turn,
    Object.fromEntries(waiting.calls.map(({ id, hash }) => [id, { ...given, hash }])),
  );
}

/** Ends the waits of a turn until it has settled. */
async function endTurn(world: World, conversation: string, turn: string): Promise<TurnView> {
  return await expect
    .poll(
      async () => {
        world.release(conversation, turn);
        const view = await world.client.result(conversation, turn);
        await answer(world.client, conversation, view, true).catch((error: unknown) => {
          if (!isTurnfoldError(error, 'conflict')) throw error;
        });
        return view;
      },
      { interval: 5, timeout: 30_000 },
    )
    .toSatisfy(({ state }: TurnView) => isSettled(state))
    .then(() => world.client.result(conversation, turn));
}
