import { fieldError, type TurnfoldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { WaitingCall } from '../../../domain/turn.ts';
import { nameWaitingCall, readCallName } from '../front-end/call-names.ts';

/*
 * Clients of OpenAI's APIs send items of earlier responses back, often without a name of the conversation. So each id
 * that the server sends has the names of its conversation and its turn. Any server finds the item by its id.
 */

export interface TurnName {
  readonly conversation: string;
  readonly turn: string;
}

/** Names in the id of a response, so that any server can read the response. */
export interface ResponseName extends TurnName {
  /** Call that the request answered. The response has only what came after the call. */
  readonly answered?: string | undefined;
}

const ID = /^resp_(?<conversation>[\w.-]+)~(?<turn>[\w.-]+?)(?:~(?<answered>c\d+_\d+))?$/;
const ITEM_ID = /^(?<prefix>[a-z]+)_(?<conversation>[\w.-]+)~(?<turn>[\w.-]+)~(?<place>[\w.-]+)$/;

export function writeResponseId({ conversation, turn, answered }: ResponseName): string {
  return `resp_${conversation}~${turn}${answered === undefined ? '' : `~${answered}`}`;
}

export function readResponseId(id: string, field = 'response_id'): ResponseName {
  const { conversation = '', turn = '', answered } = ID.exec(id)?.groups ?? {};
  if (idSchema.safeParse(conversation).success && idSchema.safeParse(turn).success) {
    return { conversation, turn, answered };
  }
  throw unknownResponse(undefined, field);
}

export function unknownResponse(cause?: unknown, field = 'response_id'): TurnfoldError {
  return fieldError('not_found', field, 'no response has this id', { cause });
}

/** @param place position within the turn: a step or a call */
export function writeItemId(prefix: string, { conversation, turn }: TurnName, place: string): string {
  return `${prefix}_${conversation}~${turn}~${place}`;
}

export interface ItemName extends TurnName {
  readonly prefix: string;
  readonly place: string;
}

/** Undefined for the id of another server, or of an earlier release. */
export function readItemId(id: string): ItemName | undefined {
  const { prefix = '', conversation = '', turn = '', place = '' } = ITEM_ID.exec(id)?.groups ?? {};
  const isOurs = idSchema.safeParse(conversation).success && idSchema.safeParse(turn).success;
  return isOurs ? { prefix, conversation, turn, place } : undefined;
}

export function writeCallId(prefix: 'call' | 'mcpr', name: TurnName, call: Pick<WaitingCall, 'id' | 'hash'>): string {
  return writeItemId(prefix, name, nameWaitingCall(call));
}

export interface AnsweredCall {
  readonly id: string;
  readonly hash?: string;
  /** Turn that made the call. Absent in names of an earlier release. */
  readonly turn?: TurnName;
}

export function readCallId(name: string): AnsweredCall {
  const { conversation, turn, place } = readItemId(name) ?? {};
  if (conversation === undefined || turn === undefined || place === undefined) return readCallName(name);
  return { ...readCallName(place), turn: { conversation, turn } };
}
