import { z } from 'zod';
import { copyBoundedJson } from './bounded-json.ts';
import { fieldError } from './errors.ts';
import { parseInput } from './parse.ts';

/** Progress that a running tool reports. At least one field is present. */
export interface ToolProgress {
  /** Text for people, at most 1,000 characters. */
  readonly text?: string;
  /** Amount of work that is done, in a unit of the tool's own. */
  readonly done?: number;
  /** Amount of all work, in the same unit. */
  readonly total?: number;
}

/** Value that a tool emits for readers of its turn. */
export interface ToolData {
  readonly name: string;
  /** Distinguishes values of one name (none: the name has one value). */
  readonly key?: string | undefined;
  /** Any JSON value. */
  readonly data: unknown;
}

/**
 * Name of the values that a tool of the AI SDK yields before its result. They are not kept, because the result replaces
 * them.
 */
export const PRELIMINARY_OUTPUT = 'preliminary-output';

export const NOTE_LIMITS = {
  progressCharacters: 1_000,
  /** Characters of one value as JSON. */
  valueCharacters: 16_384,
  /** Characters of all values of one call as JSON. */
  callCharacters: 65_536,
  /** Values of one call. */
  values: 64,
} as const;

const amount = z.number().finite().optional();
const progressSchema = z
  .strictObject({ text: z.string().optional(), done: amount, total: amount })
  .refine((given) => Object.values(given).some((value) => value !== undefined), 'expected text, done or total');

/** @throws invalid_input */
export function readProgress(value: unknown): ToolProgress {
  const { text, done, total } = parseInput(
    progressSchema,
    typeof value === 'string' ? { text: value } : value,
    'progress',
  );
  return {
    ...(text !== undefined && { text: text.slice(0, NOTE_LIMITS.progressCharacters) }),
    ...(done !== undefined && { done }),
    ...(total !== undefined && { total }),
  };
}

/** Names by which protocols already send data or events of turnfold's own. */
const RESERVED = new Set([
  'approval',
  'compaction',
  'progress',
  'restart',
  'steering',
  'turn',
  'turn_ended',
  'waiting',
]);
const DATA_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_KEY_CHARACTERS = 64;

/** The last values that a call emitted, by name and key. `values` are those that the log keeps. */
export class CallData {
  readonly #values = new Map<string, ToolData & { readonly size: number }>();
  #size = 0;

  get values(): ToolData[] {
    return [...this.#values.values()].flatMap(({ size: _, ...value }) =>
      value.name === PRELIMINARY_OUTPUT ? [] : [value],
    );
  }

  /** @param earlier values of an earlier run of the same call, oldest first */
  constructor(earlier: readonly ToolData[] = []) {
    for (const value of earlier) {
      const id = idOfData(value);
      const size = JSON.stringify(value).length;
      this.#size += size - (this.#values.get(id)?.size ?? 0);
      this.#values.set(id, { ...value, size });
    }
  }

  /**
   * Keeps a private copy of the value.
   * @returns the kept value
   * @throws invalid_input, message_too_large
   */
  put(name: unknown, data: unknown, key?: unknown): ToolData {
    const value = readValue(name, data, key);
    const id = idOfData(value);
    const { callCharacters, values } = NOTE_LIMITS;
    const known = this.#values.get(id);
    const size = JSON.stringify(value).length;
    const sum = this.#size - (known?.size ?? 0) + size;
    if (sum > callCharacters) {
      const why = `the values of one call have at most ${callCharacters} characters as JSON, not ${sum}`;
      throw fieldError('message_too_large', 'emit.data', why);
    }
    if (known === undefined && this.#values.size === values) {
      throw fieldError('message_too_large', 'emit.key', `one call emits at most ${values} names and keys`);
    }
    this.#size = sum;
    this.#values.set(id, { ...value, size });
    return value;
  }
}

function readValue(name: unknown, data: unknown, key: unknown): ToolData {
  if (typeof name !== 'string' || !DATA_NAME.test(name)) {
    throw fieldError('invalid_input', 'emit.name', `must match ${DATA_NAME.source.slice(1, -1)}`);
  }
  if (RESERVED.has(name)) throw fieldError('invalid_input', 'emit.name', `"${name}" is reserved. Choose another name`);
  if (key !== undefined && (typeof key !== 'string' || key === '' || key.length > MAX_KEY_CHARACTERS)) {
    throw fieldError('invalid_input', 'emit.key', `must be text of 1 to ${MAX_KEY_CHARACTERS} characters`);
  }
  const copy = copyBoundedJson(data, 'emit.data', { maxCharacters: NOTE_LIMITS.valueCharacters });
  return { name, ...(key !== undefined && { key }), data: copy };
}

/** A value replaces an earlier value with the same id. */
export function idOfData({ name, key }: Pick<ToolData, 'name' | 'key'>): string {
  return key === undefined ? name : `${name}/${key}`;
}
