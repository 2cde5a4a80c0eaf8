import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { describeThrown } from '../../domain/thrown.ts';
import { UlidSource } from '../../domain/ulid.ts';
import type { TurnfoldClient } from '../client/index.ts';
import { type OperationName, operations } from '../contract/client.ts';
import { type ConversationName, readConversationName } from '../contract/names.ts';
import { listArguments, listParameters, type Operation, takesObject } from '../contract/operation.ts';
import type { HttpAnswer, HttpCall, Transport } from './transport.ts';

const ids = new UlidSource({ now: () => Date.now() }, (bytes) => crypto.getRandomValues(bytes));

export function newId(): string {
  return ids.next();
}

/** @throws invalid_input for an invalid name, id or tenant, or for an input that is no object */
export function writeRequest(name: OperationName, given: readonly unknown[]): HttpCall {
  const operation: Operation = operations[name];
  const names = listArguments(operation);
  const object = takesObject(operation) ? readFields(given[names.length] ?? {}) : {};
  const fields: Fields = { ...object, ...Object.fromEntries(names.map((argument, at) => [argument, given[at]])) };
  const path = listParameters(operation.path);
  const tenant = takeTenant(fields, path, names);
  const segments = operation.path.split('/').slice(2);
  const filled = segments.map((segment) => (segment.startsWith('{') ? String(fields[segment.slice(1, -1)]) : segment));
  const rest = Object.fromEntries(Object.entries(fields).filter(([field]) => !path.includes(field)));
  const method = operation.method.toUpperCase() as HttpCall['method'];
  const call = { method, path: filled, tenant, ...describeWrite(operation, fields) };
  if (operation.method === 'get') return { ...call, query: rest as HttpCall['query'] & object };
  const { repeatedBy, repeatsItself } = operation;
  const sent = repeatedBy === undefined || repeatsItself ? rest : { ...rest, [repeatedBy]: call.write?.id };
  return { ...call, ...(operation.body && { body: writeBody(sent) }) };
}

type Fields = Record<string, unknown>;

function takeTenant(fields: Fields, path: readonly string[], names: readonly string[]): string | undefined {
  const isListed = !path.includes('conversation');
  const isNamed = names.includes('conversation');
  const { tenant } = fields;
  if (isListed || !isNamed) delete fields['tenant'];
  if (isListed) return tenant as string | undefined; // `readFields` has checked it
  const name = (
    isNamed ? fields['conversation'] : { conversation: fields['conversation'], tenant }
  ) as ConversationName;
  const called = readCalled(name);
  fields['conversation'] = called.conversation;
  for (const field of ['turn', 'proposal']) if (path.includes(field)) parseInput(idSchema, fields[field], field);
  return called.tenant;
}

/** Returns field and id of a write. Each attempt of a write has the same id. */
function describeWrite(
  { method, repeatedBy, repeatsItself, path }: Operation,
  fields: Fields,
): Pick<HttpCall, 'write'> {
  if (method === 'get') return {};
  if (repeatedBy !== undefined && repeatsItself !== true) {
    const id = parseInput(idSchema.optional(), fields[repeatedBy], repeatedBy) ?? newId();
    return { write: { field: repeatedBy, id } };
  }
  const field = path.includes('{turn}') ? 'turn' : 'conversation';
  const id = fields[field];
  // A key or a webhook has no id before it exists.
  return typeof id === 'string' ? { write: { field, id } } : {};
}

function readAnswer(operation: Operation, { body, tenant }: HttpAnswer<unknown>): unknown {
  const { member, tenantless, onlyInBody = '' } = operation;
  const { [onlyInBody]: _, ...fields } = body as Fields;
  if (tenantless === undefined) return member === undefined ? fields : fields[member];
  if (tenantless === 'body') return { tenant, ...fields };
  const entries = (fields[tenantless] as object[]).map((entry) => ({ tenant, ...entry }));
  return member === undefined ? { ...fields, [tenantless]: entries } : entries;
}

/** Calls an operation, and returns what its method returns. */
export async function callNamed(
  transport: Transport,
  name: OperationName,
  given: readonly unknown[],
  signal?: AbortSignal,
): Promise<unknown> {
  return readAnswer(operations[name], await transport.send({ ...writeRequest(name, given), signal }));
}

export async function callOperation<Name extends OperationName & keyof TurnfoldClient>(
  transport: Transport,
  name: Name,
  given: readonly unknown[],
): Promise<Awaited<ReturnType<TurnfoldClient[Name]>>> {
  return (await callNamed(transport, name, given)) as Awaited<ReturnType<TurnfoldClient[Name]>>;
}

/** Without a named tenant, the tenant follows from the key. */
export function readCalled(
  name: ConversationName,
  at?: string,
): { readonly conversation: string; readonly tenant: string | undefined } {
  const { id, tenant } = readConversationName(name, at);
  const isNamed = typeof name === 'object' && name.tenant !== undefined;
  return { conversation: id, tenant: isNamed ? tenant : undefined };
}

const inputSchema = z.looseObject({ tenant: idSchema.optional() });

/** The server validates the fields. @throws invalid_input if the input is no object, or for an invalid tenant */
export function readFields<Input extends object>(input: Input): Input & { readonly tenant?: string | undefined } {
  return parseInput(inputSchema, input) as Input & { readonly tenant?: string | undefined };
}

export function writeBody(fields: object): string {
  const written = Object.entries(fields).flatMap(([name, value]) => {
    const text = writeValue(name, value);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
  });
  return `{${written.join(',')}}`;
}

function writeValue(name: string, value: unknown): string | undefined {
  try {
    // `JSON.stringify` also returns undefined for functions, which its type does not say.
    const text: string | undefined = JSON.stringify(value);
    return text;
  } catch (error) {
    throw fieldError('invalid_input', name, `cannot be written as JSON: ${describeThrown(error).message}`);
  }
}
