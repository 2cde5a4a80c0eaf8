import { randomUUID } from 'node:crypto';
import type { ToolCall } from '../domain/message.ts';
import { isMapping } from '../domain/parse.ts';
import { parseObject } from './calls.ts';

/** Tool name of a call that came without a name. The result of such a call is an error that lists the tools. */
const UNNAMED = 'unknown_tool';

interface ReceivedCall {
  readonly id?: unknown;
  readonly name?: unknown;
  readonly arguments?: unknown;
}

/** Gives each call its own id. Local servers and gateways may send no id, an empty id, or one id for two calls. */
export function completeCalls(received: readonly ReceivedCall[]): ToolCall[] {
  const taken = new Set<string>();
  return received.map(({ id, name, arguments: given }) => {
    const isOwn = typeof id === 'string' && id !== '' && !taken.has(id);
    const chosen = isOwn ? id : `call_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
    taken.add(chosen);
    const called = typeof name === 'string' && name !== '' ? name : UNNAMED;
    return { id: chosen, name: called, arguments: mendArguments(given) };
  });
}

/** Returns arguments as text. Some servers send an object or null, put `{}` first, or serialize the text twice. */
export function mendArguments(given: unknown): string {
  if (given === undefined || given === null) return '';
  if (typeof given !== 'string') return JSON.stringify(given);
  const text = given.replace(/^\s*\{\s*\}(?=\s*\{)/, '');
  if (text.trim() === 'null') return '';
  return /^\s*"/.test(text) ? (readTwice(text) ?? text) : text;
}

function readTwice(text: string): string | undefined {
  const wrapped = parseObject(`{"inner":${text}}`);
  const inner = wrapped?.['inner'];
  return typeof inner === 'string' && isMapping(parseObject(inner)) ? inner : undefined;
}
