import { isDeepStrictEqual } from 'node:util';
import { fieldError } from '../../../domain/errors.ts';
import { readJsonText } from '../../../domain/json-text.ts';
import type { WaitingCall } from '../../../domain/turn.ts';

/** Adds the hash, because the id repeats when a conversation is erased and created again (invariant I21). */
export function nameWaitingCall({ id, hash }: Pick<WaitingCall, 'id' | 'hash'>): string {
  return hash === undefined ? id : `${id}.${hash}`;
}

export function undecided(calls: readonly WaitingCall[]): readonly WaitingCall[] {
  return calls.filter(({ decision }) => decision === undefined);
}

/** Reads the name of a call. A front-end of an earlier release returns only the id. */
export function readCallName(name: string): { readonly id: string; readonly hash?: string } {
  const [id = '', hash] = name.split('.', 2);
  return hash === undefined || hash === '' ? { id } : { id, hash };
}

interface ShownCall {
  readonly name?: string | undefined;
  readonly input?: unknown;
}

/** @returns the hash for the answer, if the front-end shows the call that waits */
export function checkShownCall(call: WaitingCall, { name, input }: ShownCall, field: string): string | undefined {
  const texts = [call.arguments, ...(call.input === undefined ? [] : [call.input])];
  const hasSameInput = input === undefined || texts.some((text) => isDeepStrictEqual(input, readJsonOrText(text)));
  if ((name === undefined || name === call.name) && (hasSameInput || texts.includes(input as string))) return call.hash;
  const why = `the turn waits for a call with the id ${call.id}, but not for the call that the page shows under this id. Load the conversation again`;
  throw fieldError('conflict', field, why);
}

/** Parses a JSON object or list. Any other text stays a text. */
export function readJsonOrText(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  return readJsonText(text) ?? text;
}
