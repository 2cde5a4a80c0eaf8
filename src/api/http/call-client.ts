import { z } from 'zod';
import { parseInput } from '../../domain/parse.ts';
import type { TurnfoldClient } from '../client/index.ts';
import { listArguments, takesObject } from '../contract/operation.ts';
import { readOperation } from './idempotency-key.ts';
import type { Call, JsonAnswer } from './route.ts';

/** Answers with what the client's method returns. The row of the operation says how the two differ. */
export async function answerByClient(call: Call): Promise<JsonAnswer> {
  const { route, request, readers } = call;
  const run = (): Promise<unknown> => callClient(call);
  return { body: writeBody(call, route.waits === true ? await readers.run(request, run) : await run()) };
}

type Method = keyof TurnfoldClient;
type AnswerOf<Name extends Method> = Awaited<ReturnType<TurnfoldClient[Name]>>;

export async function callClient<Name extends Method>(call: Call): Promise<AnswerOf<Name>> {
  const { client, route, caller, name, params, query, body } = call;
  const names = listArguments(route);
  const { conversation: _, ...given }: Fields = { ...params, ...(query as object), ...(body as object) };
  const { repeatedBy } = route;
  if (repeatedBy !== undefined) given[repeatedBy] = readOperation(call, given[repeatedBy] as string | undefined);
  const args = names.map((argument) => (argument === 'conversation' ? name : given[argument]));
  const rest = Object.entries(given).filter(([field]) => !names.includes(field));
  const target = 'conversation' in params ? name : { tenant: caller.tenant };
  const input = { ...Object.fromEntries(rest), ...(!names.includes('conversation') && target) };
  const method = client[route.operation as Name] as (...input: readonly unknown[]) => Promise<AnswerOf<Name>>;
  return await method(...args, ...(takesObject(route) ? [input] : []));
}

type Fields = Record<string, unknown>;

function writeBody({ route, name }: Call, answer: unknown): Fields {
  const { member, tenantless, onlyInBody } = route;
  const added = { conversation: name.conversation, format: 'turnfold' };
  const body = {
    ...(onlyInBody !== undefined && { [onlyInBody]: added[onlyInBody] }),
    ...((member === undefined ? answer : { [member]: answer }) as Fields),
  };
  if (tenantless === undefined) return body;
  if (tenantless === 'body') return hideTenant(body);
  return { ...body, [tenantless]: (body[tenantless] as Fields[]).map(hideTenant) };
}

function hideTenant({ tenant: _, ...rest }: Fields): Fields {
  return rest;
}

/** Reads a query. Its values are text, and the schema says how to read each value. */
export function parseQuery(schema: z.ZodObject, text: Readonly<Record<string, string>>): unknown {
  const values = Object.entries(text).map(([name, value]) => [name, readText(schema.shape[name], value, name)]);
  return parseInput(schema, Object.fromEntries(values));
}

const booleanText = z.stringbool();

function readText(schema: z.core.$ZodType | undefined, text: string, name: string): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return readText(schema.unwrap(), text, name);
  if (schema instanceof z.ZodNumber) return Number(text);
  return schema instanceof z.ZodBoolean ? parseInput(booleanText, text, name) : text;
}
