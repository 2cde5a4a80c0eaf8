import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import { callStore, corruptRecord, findKeyOfOtherType, OTHER_TYPE } from './records.ts';

/** Milliseconds for which an operation's answer is kept. */
export const OPERATION_MS = 86_400_000;

export type Argument = string | number;

/** A Lua script with the order of its arguments and the decoder of its reply. `Input` holds the operation's parameters. */
export interface ScriptDefinition<Input extends readonly unknown[], Reply> {
  /** Name of the file under `lua/`, without its extension. */
  readonly file: string;
  /** Absent: all keys of the conversation that the first parameter is or names. */
  readonly keys?: (input: Input, keyspace: Keyspace) => string[];
  readonly args: (input: Input, keyspace: Keyspace) => readonly Argument[];
  readonly decode: (reply: unknown, input: Input, keyspace: Keyspace) => Reply;
}

/** Script that implements one operation of a port. */
export type ScriptOf<Operation extends (...input: never[]) => Promise<unknown>> = ScriptDefinition<
  Parameters<Operation>,
  Awaited<ReturnType<Operation>>
>;

/** A script over one keyspace. */
export class Script<Input extends readonly unknown[], Reply> {
  readonly lua: string;
  readonly sha: string;
  readonly #definition: ScriptDefinition<Input, Reply>;
  readonly #keyspace: Keyspace;

  /** Reads the file. Called when a store opens, not at import. */
  constructor(definition: ScriptDefinition<Input, Reply>, keyspace: Keyspace, lua = readLua(`${definition.file}.lua`)) {
    this.lua = lua;
    this.sha = createHash('sha1').update(lua).digest('hex');
    this.#definition = definition;
    this.#keyspace = keyspace;
  }

  /**
   * Runs the script by its hash, or by its text on a server that does not know it yet.
   * @throws corrupt_record
   */
  async run(redis: Redis, input: Input): Promise<Reply> {
    const args = this.encode(input);
    try {
      return this.decode(await callStore(() => this.#call(redis, args)), input);
    } catch (error) {
      if (!isUnnamed(error)) throw error;
      const key = await callStore(() => findKeyOfOtherType(redis, this.#keys(input)));
      throw key === undefined ? error : corruptRecord(key, '', OTHER_TYPE, error.cause);
    }
  }

  /**
   * Returns the arguments after the script's hash or text, as one list. `evalsha(...args)` would put each on the stack: the
   * 80,000 arguments of an append of 20,000 messages overflow the stack and end the process.
   */
  encode(input: Input): Argument[] {
    const keys = this.#keys(input);
    return [keys.length, ...keys, ...this.#definition.args(input, this.#keyspace)];
  }

  /** @throws corrupt_record for any error of a decoder. Decoders name the field if they know it. */
  decode(reply: unknown, input: Input): Reply {
    try {
      return this.#definition.decode(reply, input, this.#keyspace);
    } catch (error) {
      if (isTurnfoldError(error)) throw error;
      throw corruptRecord(this.#keys(input)[0] ?? '', '', 'a value of its conversation cannot be read', error);
    }
  }

  async #call(redis: Redis, args: readonly Argument[]): Promise<unknown> {
    try {
      return await redis.call('evalsha', [this.sha, ...args]);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await redis.call('eval', [this.lua, ...args]);
    }
  }

  #keys(input: Input): string[] {
    const { keys } = this.#definition;
    return keys === undefined ? this.#keyspace.conversation(conversationOf(input)) : keys(input, this.#keyspace);
  }
}

/** Conversation of an operation: its first parameter, or the field `conversation` of that parameter. */
export function conversationOf([first]: readonly unknown[]): ConversationRef {
  const address = first as ConversationRef | { readonly conversation: ConversationRef };
  return 'conversation' in address ? address.conversation : address;
}

function isUnnamed(error: unknown): error is TurnfoldError {
  const hasCause = isTurnfoldError(error, 'corrupt_record') && error.cause instanceof Error;
  return hasCause && (error.cause as Error).message.startsWith('WRONGTYPE');
}

export type BindScript = <Input extends readonly unknown[], Reply>(
  definition: ScriptDefinition<Input, Reply>,
) => (...input: Input) => Promise<Reply>;

/** Returns a function that binds scripts to a connection as operations. */
export function scriptBinder(redis: Redis, keyspace: Keyspace): BindScript {
  return (definition) => {
    const script = new Script(definition, keyspace);
    return (...input) => script.run(redis, input);
  };
}

/** Decodes the reply of a script that returns nothing but a status. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the definition's type says which statuses its file replies
export function decodeStatus<Reply extends { readonly status: string }>(reply: unknown): Reply {
  return { status: reply } as Reply;
}

/** Encodes pairs as arguments, with their count first. */
export function encodePairs(pairs: readonly (readonly [string, string])[]): Argument[] {
  return [pairs.length, ...pairs.flat()];
}

/** Reads a file under `lua/` and inserts its includes. */
export function readLua(path: string): string {
  const text = readFileSync(new URL(`./lua/${path}`, import.meta.url), 'utf8');
  return text.replace(/^-- @include (\S+)$/gm, (_, part: string) => readLua(`shared/${part}.lua`));
}
