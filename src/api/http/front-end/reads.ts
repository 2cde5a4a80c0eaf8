import { setTimeout as delay } from 'node:timers/promises';
import { isTurnfoldError } from '../../../domain/errors.ts';
import type { TurnView } from '../../../domain/turn.ts';
import type { OpenTurns } from '../../client/index.ts';
import type { OpenTurnsInput } from '../../contract/turns.ts';
import type { Backend } from './backend.ts';

/** Resolves to undefined if the conversation or turn that is read does not exist. */
export async function readIfAny<Read>(reading: Promise<Read>): Promise<Read | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return undefined;
    throw error;
  }
}

export async function readTurn(
  { client, nameOf }: Backend,
  conversation: string,
  turn: string,
): Promise<TurnView | undefined> {
  return await readIfAny(client.result(nameOf(conversation), turn));
}

export async function readOpenTurns(
  { client, nameOf }: Backend,
  conversation: string,
  options: OpenTurnsInput,
): Promise<OpenTurns | undefined> {
  return await readIfAny(client.openTurns(nameOf(conversation), options));
}

/** Time in which the request that a stop is for may still arrive, in ms. A page may stop a message as soon as it has sent it. */
const ARRIVAL_MS = 500;
/** Interval of the reads, in ms. */
const READ_MS = 50;

/** Reads until something is found, or its request can no longer be on its way. */
export async function awaitArrival<Read>(
  read: () => Promise<Read | undefined>,
  left: AbortSignal,
): Promise<Read | undefined> {
  const until = performance.now() + ARRIVAL_MS;
  for (;;) {
    const found = await read();
    if (found !== undefined || left.aborted || performance.now() >= until) return found;
    await delay(READ_MS, undefined, { signal: left }).catch(() => undefined);
  }
}
