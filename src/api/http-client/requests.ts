import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { idSchema, type NamedConversation } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { UlidSource } from '../../domain/ulid.ts';
import { type ConversationName, readConversationName } from '../client/input.ts';
import type { HttpCall } from './transport.ts';

const ids = new UlidSource({ now: () => Date.now() }, (bytes) => crypto.getRandomValues(bytes));

/** Makes the ids of writes that the caller did not name. Each id is larger than the one before. */
export function newId(): string {
  return ids.next();
}

/** The conversation of a call. `tenant` is present if the caller named it. Otherwise it follows from the key. */
export interface CalledConversation {
  readonly conversation: string;
  readonly tenant: string | undefined;
}

/** @throws invalid_input for an invalid tenant or id */
export function readCalled(name: ConversationName, at?: string): CalledConversation {
  const { id, tenant } = readConversationName(name, at);
  const isNamed = typeof name === 'object' && name.tenant !== undefined;
  return { conversation: id, tenant: isNamed ? tenant : undefined };
}

/** A call about a conversation, or about something in it. */
export function callOf(
  { conversation, tenant }: CalledConversation,
  method: HttpCall['method'],
  ...path: readonly string[]
): HttpCall {
  return { method, path: ['conversations', conversation, ...path], tenant };
}

const inputSchema = z.looseObject({ tenant: idSchema.optional() });

/**
 * Copies the fields of an input. The server validates them, by the schemas of the client over Redis.
 * @throws invalid_input if the input is no object, if reading it fails, or for an invalid tenant
 */
export function readFields<Input extends object>(input: Input): Input & { readonly tenant?: string | undefined } {
  return parseInput(inputSchema, input) as Input & { readonly tenant?: string | undefined };
}

/**
 * Writes fields as JSON.
 * @throws invalid_input for a value that JSON does not have, with the field
 */
export function writeBody(fields: object): string {
  const written = Object.entries(fields).flatMap(([name, value]) => {
    const text = writeValue(name, value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${written.join(',')}}`;
}

function writeValue(name: string, value: unknown): string | undefined {
  try {
    // Undefined for undefined and for functions, which the type of the function does not say.
    const text: string | undefined = JSON.stringify(value);
    return text;
  } catch (error) {
    throw fieldError('invalid_input', name, `cannot be written as JSON: ${describeThrown(error).message}`);
  }
}

/** Adds the tenant of the key, which the server leaves out of each entry. */
export function addTenant<Entry extends NamedConversation>(entry: Omit<Entry, 'tenant'>, tenant: string): Entry {
  return { tenant, ...entry } as Entry;
}
