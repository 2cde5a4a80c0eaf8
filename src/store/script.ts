/**
 * Each write of a conversation is one Lua script: Redis does it whole or not at all. A repeated call has no further
 * effect (I5). MULTI is no alternative: what a write does follows from what it reads, and a transaction cannot read in
 * between.
 *
 * A definition has the file under `lua/`, its keys and arguments by name, and the decoder of the reply. The files of the
 * nouns, such as `turn-claims.ts`, hold the definitions with their types. `scriptBinder` turns them into functions on one
 * connection: their parameters are the script's `Input`.
 *
 * A call names its script by the hash, and sends the text only if the server does not know the hash. The arguments are
 * one list. `evalsha(...args)` would put each on the stack: an append of 20,000 messages has 80,000 arguments, which
 * overflow the stack and end the process.
 *
 * docs/contributing/lua.md explains the Lua files.
 */

import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { isTurnfoldError, type TurnfoldError } from '../domain/errors.ts';
import type { ConversationRef } from '../domain/ids.ts';
import type { Keyspace } from './keys.ts';
import { type LuaFile, loadLua } from './lua-file.ts';
import { callStore, corruptRecord, findKeyOfOtherType, OTHER_TYPE } from './records.ts';

export interface OtherPayload {
  readonly status: 'other_payload';
}

/** ms for which the reply to an operation is kept for repeated calls. */
export const OPERATION_MS = 86_400_000;

export type Argument = string | number | Buffer;

/** Arguments by the names that `@args` of the Lua file lists. A script receives true as 1, false as 0, undefined as ''. */
export type NamedArguments = Readonly<Record<string, Argument | boolean | undefined | readonly Argument[]>>;

export interface ScriptDefinition<Input extends readonly unknown[], Reply> {
  readonly file: string;
  /** Keys by the names that `@keys` lists. Default: all keys of the conversation in the first parameter. */
  readonly keys?: (input: Input, keyspace: Keyspace) => Readonly<Record<string, string>>;
  readonly args?: (input: Input, keyspace: Keyspace) => NamedArguments;
  readonly decode: (reply: unknown, input: Input, keyspace: Keyspace) => Reply;
}

export class Script<Input extends readonly unknown[], Reply> {
  readonly lua: string;
  readonly sha: string;
  readonly #names: Pick<LuaFile, 'keys' | 'args'>;
  readonly #definition: ScriptDefinition<Input, Reply>;
  readonly #keyspace: Keyspace;

  /** Loads the Lua file: when a store opens, not at import. */
  constructor(definition: ScriptDefinition<Input, Reply>, keyspace: Keyspace, file = loadLua(definition.file)) {
    this.lua = file.text;
    this.sha = createHash('sha1').update(file.text).digest('hex');
    this.#names = file;
    this.#definition = definition;
    this.#keyspace = keyspace;
  }

  /** @throws corrupt_record if a record has a wrong type or the reply cannot be decoded */
  async run(redis: Redis, input: Input): Promise<Reply> {
    const args = this.encode(input);
    try {
      return this.decode(await callStore(() => this.#call(redis, args)), input);
    } catch (error) {
      if (!isUnnamed(error)) throw error;
      const key = await callStore(() => findKeyOfOtherType(redis, this.#namedKeys(input)));
      throw key === undefined ? error : corruptRecord(key, '', OTHER_TYPE, error.cause);
    }
  }

  encode(input: Input): Argument[] {
    const keys = this.#inOrder('keys', this.#namedKeys(input));
    const args = this.#definition.args?.(input, this.#keyspace) ?? {};
    return [keys.length, ...keys, ...this.#inOrder('args', args).flatMap(encodeArgument)];
  }

  /** @throws corrupt_record for any error of a decoder. Decoders name the field if they know it. */
  decode(reply: unknown, input: Input): Reply {
    try {
      return this.#definition.decode(reply, input, this.#keyspace);
    } catch (error) {
      if (isTurnfoldError(error)) throw error;
      throw corruptRecord(
        Object.values(this.#namedKeys(input))[0] ?? '',
        '',
        'turnfold cannot read a value of this conversation, under this key or another key',
        error,
      );
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

  #namedKeys(input: Input): Readonly<Record<string, string>> {
    const { keys } = this.#definition;
    return keys?.(input, this.#keyspace) ?? this.#keyspace.conversation(conversationOf(input));
  }

  #inOrder<Value>(kind: 'keys' | 'args', values: Readonly<Record<string, Value>>): Value[] {
    const names = this.#names[kind];
    const given = Object.keys(values);
    const ordered: Value[] = [];
    for (const name of names) if (Object.hasOwn(values, name)) ordered.push(values[name] as Value);
    if (ordered.length === names.length && given.length === names.length) return ordered;
    throw new Error(
      `${this.#definition.file}.lua lists @${kind} ${names.join(', ')}, but its definition has ${given.join(', ')}`,
    );
  }
}

function encodeArgument(value: NamedArguments[string]): Argument | readonly Argument[] {
  return typeof value === 'boolean' ? Number(value) : (value ?? '');
}

/** Returns the conversation of an operation: its first parameter, or the field `conversation` of that parameter. */
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

export function scriptBinder(redis: Redis, keyspace: Keyspace): BindScript {
  return (definition) => {
    const script = new Script(definition, keyspace);
    return (...input) => script.run(redis, input);
  };
}

/** Statuses of a result that come with further fields. */
type StatusWithFields<Result> = Result extends { readonly status: infer Status extends string }
  ? Exclude<keyof Result, 'status'> extends never
    ? never
    : Status
  : never;

type FieldsOf<Result, Status> = Result extends { readonly status: infer Known }
  ? Status extends Known
    ? Omit<Result, 'status'>
    : never
  : never;

/** For each status, a function from the values behind it in the reply to the fields of the result. */
type FieldReaders<Result> = {
  readonly [Status in StatusWithFields<Result>]: (...values: never[]) => FieldsOf<Result, Status>;
};

/** Decodes a reply `{status, value…}`. */
export function decodeReply<Result extends { readonly status: string }>(
  reply: unknown,
  readers: FieldReaders<Result>,
): Result {
  const [status, ...values] = reply as [string, ...never[]];
  const read = (readers as Record<string, (...values: never[]) => object>)[status];
  return { status, ...read?.(...values) } as Result;
}

/** Decodes the reply of a script that returns only a status. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the definition's type says which statuses its file replies
export function decodeStatus<Reply extends { readonly status: string }>(reply: unknown): Reply {
  return { status: reply } as Reply;
}

export function encodePairs(pairs: readonly (readonly [string, string])[]): (string | number)[] {
  return [pairs.length, ...pairs.flat()];
}
