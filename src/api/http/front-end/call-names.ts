import { isDeepStrictEqual } from 'node:util';
import { fieldError } from '../../../domain/errors.ts';
import { readJsonText } from '../../../domain/json-text.ts';
import type { WaitingCall } from '../../../domain/turn.ts';

/**
 * Name of a waiting call in an id that a front-end returns: its id and its hash. The id alone repeats when a conversation
 * is erased and created again (I21).
 */
export function nameWaitingCall({ id, hash }: Pick<WaitingCall, 'id' | 'hash'>): string {
  return hash === undefined ? id : `${id}.${hash}`;
}

/** Returns the calls that still wait for an answer. */
export function undecided(calls: readonly WaitingCall[]): readonly WaitingCall[] {
  return calls.filter(({ decision }) => decision === undefined);
}

/** Reads a name that `nameCall` wrote. A front-end of an earlier release returns the id alone. */
export function readCallName(name: string): { readonly id: string; readonly hash?: string } {
  const [id = '', hash] = name.split('.', 2);
  return hash === undefined || hash === '' ? { id } : { id, hash };
}

/** The call as a front-end has it. Absent fields are unknown. */
interface ShownCall {
  readonly name?: string | undefined;
  /** Arguments as the model wrote them, or as the front-end parsed them. */
  readonly input?: unknown;
}

/**
 * Checks that a front-end shows the call that waits. A protocol whose answers have only the id of the call returns the
 * name and the arguments, too.
 * @returns the hash for the answer
 * @throws conflict with the field
 */
export function checkShownCall(call: WaitingCall, { name, input }: ShownCall, field: string): string | undefined {
  const texts = [call.arguments, ...(call.input === undefined ? [] : [call.input])];
  const hasSameInput = input === undefined || texts.some((text) => isDeepStrictEqual(input, readJsonOrText(text)));
  if ((name === undefined || name === call.name) && (hasSameInput || texts.includes(input as string))) return call.hash;
  const why = `the turn waits for another call with the id ${call.id} than the one shown. Load the conversation again`;
  throw fieldError('conflict', field, why);
}

/** Reads a JSON object or list. Any other text stays a text. */
export function readJsonOrText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  return readJsonText(text) ?? text;
}
