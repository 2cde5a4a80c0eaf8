import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import { callStore, corruptRecord, findKeyOfOtherType } from './records.ts';

/** Milliseconds for which an operation's answer is kept. */
export const OPERATION_MS = 86_400_000;

/** A Lua script with the order of its arguments and the decoder of its reply. */
export interface ScriptDefinition<Input, Reply> {
  /** Name of the file under `lua/`, without its extension. */
  readonly file: string;
  readonly keys: (input: Input) => string[];
  readonly args: (input: Input) => (string | number)[];
  readonly decode: (reply: unknown, input: Input) => Reply;
}

export interface Script<Input, Reply> extends ScriptDefinition<Input, Reply> {
  readonly lua: string;
  readonly sha: string;
}

/** Reads the file. Called when a store opens, not at import. */
export function loadScript<Input, Reply>(definition: ScriptDefinition<Input, Reply>): Script<Input, Reply> {
  const lua = readLua(`${definition.file}.lua`);
  return { ...definition, lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/** Runs a script by its hash, or by its text on a server that does not know it yet. */
export async function runScript<Input, Reply>(
  redis: Redis,
  script: Script<Input, Reply>,
  input: Input,
): Promise<Reply> {
  const reply = await callScript(redis, script, input);
  return decodeReply(script, reply, input);
}

async function callScript<Input, Reply>(redis: Redis, script: Script<Input, Reply>, input: Input): Promise<unknown> {
  const args = encodeArguments(script, input);
  try {
    return await callStore(async () => {
      try {
        return await redis.call('evalsha', [script.sha, ...args]);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return await redis.call('eval', [script.lua, ...args]);
      }
    });
  } catch (error) {
    if (!isUnnamed(error)) throw error;
    const key = await callStore(() => findKeyOfOtherType(redis, script.keys(input)));
    throw key === undefined ? error : corruptRecord(key, '', 'the key has another type than it should', error.cause);
  }
}

function isUnnamed(error: unknown): error is TurnfoldError {
  const isOfType = isTurnfoldError(error, 'corrupt_record') && error.cause instanceof Error;
  return isOfType && (error.cause as Error).message.startsWith('WRONGTYPE');
}

/** @throws corrupt_record for any error of a decoder. Decoders name the field if they know it. */
export function decodeReply<Input, Reply>(
  script: Pick<ScriptDefinition<Input, Reply>, 'decode' | 'keys'>,
  reply: unknown,
  input: Input,
): Reply {
  try {
    return script.decode(reply, input);
  } catch (error) {
    if (isTurnfoldError(error)) throw error;
    throw corruptRecord(script.keys(input)[0] ?? '', '', 'a value of its conversation cannot be read', error);
  }
}

/**
 * Arguments after a script's hash or text, as one list. `evalsha(...args)` would put each on the stack: the 80,000
 * arguments of an append of 20,000 messages overflow it and end the process.
 */
export function encodeArguments<Input, Reply>(script: Script<Input, Reply>, input: Input): (string | number)[] {
  const keys = script.keys(input);
  return [keys.length, ...keys, ...script.args(input)];
}

/** Binds a script to a connection as an operation. */
export function bindScript<Input, Reply>(
  redis: Redis,
  definition: ScriptDefinition<Input, Reply>,
): (input: Input) => Promise<Reply> {
  const script = loadScript(definition);
  return (input) => runScript(redis, script, input);
}

/** Encodes pairs as arguments, with their count first. */
export function encodePairs(pairs: readonly (readonly [string, string])[]): (string | number)[] {
  return [pairs.length, ...pairs.flat()];
}

/** Reads a file under `lua/` and inserts its includes. */
export function readLua(path: string): string {
  const text = readFileSync(new URL(`./lua/${path}`, import.meta.url), 'utf8');
  return text.replace(/^-- @include (\S+)$/gm, (_, part: string) => readLua(`shared/${part}.lua`));
}
