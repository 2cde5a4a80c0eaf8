import { isTurnfoldError } from '../../../domain/errors.ts';
import type { InputPart } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readTurn } from '../front-end/reads.ts';
import type { ChunkPosition } from './chunk-position.ts';
import type { KnownParts } from './chunks.ts';

interface ChatTurn {
  readonly turn: string;
  readonly known?: KnownParts;
}

export interface StreamedAnswer extends ChatTurn {
  /** Place from which the page goes on. Absent: the start of the turn. */
  readonly after?: ChunkPosition | undefined;
}

/** Contents of a user's message. */
export interface ChatInput {
  readonly text: string;
  /** Images and files of the message. */
  readonly parts?: readonly InputPart[];
}

export interface ChatPlan extends ChatTurn {
  readonly input?: ChatInput;
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

export interface BegunTurn {
  readonly conversation: string;
  readonly turn: string;
  readonly input: ChatInput;
  /** True: the message joins the running turn (false). */
  readonly isSteering?: boolean;
}

/** Changes nothing if an earlier request has begun the turn. @throws turn_conflict if its text differs */
export async function beginTurn({ client, agent, tenant }: Backend, begun: BegunTurn): Promise<void> {
  const { conversation, turn, input, isSteering = false } = begun;
  const { text, parts } = input;
  const begin = async (steers: boolean): Promise<void> => {
    const onBusy = steers && { onBusy: 'steer' as const };
    const files = parts !== undefined && { parts: [...parts] };
    await client.enqueueTurn({ conversation, tenant, agent, turn, input: text, ...files, ...onBusy });
  };
  await begin(isSteering).catch(async (error: unknown) => {
    // The first request may have come at another moment, when the message did or did not join a turn.
    if (!isTurnfoldError(error, 'turn_conflict')) throw error;
    await begin(!isSteering);
  });
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
