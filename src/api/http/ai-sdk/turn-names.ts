import type { Backend } from '../front-end/backend.ts';
import { readTurn } from '../front-end/reads.ts';
import type { KnownParts } from './chunks.ts';

export interface ChatTurn {
  readonly turn: string;
  readonly known?: KnownParts;
}

export interface ChatPlan extends ChatTurn {
  readonly input?: string;
  /** Attempt that the turn replaces, and the open turns from this attempt on. */
  readonly replaced?: { readonly turn: string; readonly open: readonly string[] };
}

/** A turn has the id of its user message and a number, so a repeated request finds it. Its answer has the same id. */
export function nameTurn(message: string, attempt: number): string {
  return `${message}.${attempt}`;
}

export function splitTurnName(turn: string): { readonly message: string; readonly attempt: number } | undefined {
  const { message, attempt } = /^(?<message>.+)\.(?<attempt>[1-9]\d{0,8})$/.exec(turn)?.groups ?? {};
  return message === undefined ? undefined : { message, attempt: Number(attempt) };
}

/** Changes nothing if an earlier request has begun the turn. @throws turn_conflict if its text differs */
export async function beginTurn(
  { client, agent, tenant }: Backend,
  conversation: string,
  turn: string,
  input: string,
): Promise<void> {
  await client.enqueueTurn({ conversation, tenant, agent, turn, input });
}

/** Finds the last of n attempts with about 2 log n reads. */
export async function findLastAttempt(backend: Backend, id: string, message: string): Promise<number> {
  const exists = async (attempt: number) => (await readTurn(backend, id, nameTurn(message, attempt))) !== undefined;
  let [last, missing] = [1, 2];
  while (await exists(missing)) [last, missing] = [missing, missing * 2];
  while (missing - last > 1) {
    const middle = Math.floor((last + missing) / 2);
    if (await exists(middle)) last = middle;
    else missing = middle;
  }
  return last;
}
