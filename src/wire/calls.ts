import type { Message, ToolCall } from '../domain/message.ts';
import { isMapping } from '../domain/parse.ts';
import type { WireFormat } from '../domain/raw-items.ts';

/** Key under which arguments that are not a JSON object are sent. The model reads its own text back. */
const INVALID_KEY = 'invalid_arguments';

/** Matches a surrogate, escaped or not. Arguments without a match cannot hold a lone surrogate. */
const SURROGATE = /\\u[dD][89a-fA-F]|[\ud800-\udfff]/;

/** Matches digits or an exponent that may exceed the range of a double. */
const BIG_NUMBER = /\d{16}|[eE]\+?\d{3}/;

export interface CallArguments {
  /** Parsed arguments. Numbers that a double would change are strings. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly arguments: string;
}

/**
 * Reads arguments as a JSON object of well-formed text, whatever the model wrote (X7, X8). Valid text is kept as it is.
 */
export function readCallArguments(call: Pick<ToolCall, 'arguments'>): CallArguments {
  const text = call.arguments;
  const given = parseObject(text);
  if (given === undefined) {
    const input = text.trim() === '' ? {} : { [INVALID_KEY]: text.toWellFormed() };
    return { input, arguments: JSON.stringify(input) };
  }
  if (!SURROGATE.test(text)) return { input: BIG_NUMBER.test(text) ? mendInput(text).input : given, arguments: text };
  const { input, isWellFormed } = mendInput(text.toWellFormed());
  return { input, arguments: isWellFormed && text.isWellFormed() ? text : JSON.stringify(input) };
}

/** Finds a number that a double would change. A changed 20-digit id would name something else. */
export function hasBigNumber(text: string): boolean {
  return BIG_NUMBER.test(text) && parseObject(text) !== undefined && mendInput(text).hasBigNumber;
}

interface MendedInput {
  readonly input: Record<string, unknown>;
  /** No string of the arguments held a lone surrogate. */
  readonly isWellFormed: boolean;
  readonly hasBigNumber: boolean;
}

function mendInput(text: string): MendedInput {
  const found = { isWellFormed: true, hasBigNumber: false };
  const input = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value === 'string') {
      if (!value.isWellFormed()) found.isWellFormed = false;
      return value.toWellFormed();
    }
    const source = context?.source ?? '';
    if (typeof value !== 'number' || !isChanged(value, source)) return value;
    found.hasBigNumber = true;
    return source;
  }) as Record<string, unknown>;
  return { input, ...found };
}

/** Only whole numbers count as changed. A tool would read the same rounded fraction as the model sends. */
function isChanged(value: number, source: string): boolean {
  return !Number.isFinite(value) || (/^-?\d+$/.test(source) && BigInt(value) !== BigInt(source));
}

/** @returns undefined if the text is not a JSON object */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMapping(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Legal call ids of each format. Anthropic documents its rule. The other two come from what servers accepted. */
const LEGAL_IDS: Readonly<Record<WireFormat, RegExp>> = {
  anthropic: /^[a-zA-Z0-9_-]{1,64}$/,
  'openai-chat': /^[\x21-\x7e]{1,40}$/,
  'openai-responses': /^[a-zA-Z0-9_-]{1,64}$/,
};

/**
 * Chooses the id under which each call is sent. The first free and legal one wins:
 * 1. The provider's id, because signed items may refer to it.
 * 2. The id in the log.
 * 3. A new id derived from it.
 */
export class CallIds {
  readonly #legal: RegExp;
  readonly #taken = new Set<string>();
  /** Sent id of each call, by the id in the log. */
  readonly #sent = new Map<string, string>();
  /** Last number tried for each stem. Without this map, 10,000 ids with one stem would take 50,000,000 attempts. */
  readonly #numbers = new Map<string, number>();

  constructor(messages: readonly Message[], format: WireFormat) {
    this.#legal = LEGAL_IDS[format];
    for (const { toolCalls = [] } of messages) for (const call of toolCalls) this.#choose(call);
  }

  /** Sent id of a call, or undefined if no message makes that call. */
  sentOf(id: string): string | undefined {
    return this.#sent.get(id);
  }

  #choose({ id, providerId }: ToolCall): void {
    if (this.#sent.has(id)) return;
    const chosen = [providerId, id].find((candidate) => candidate !== undefined && this.#isFree(candidate));
    const sent = chosen ?? this.#make(id);
    this.#taken.add(sent);
    this.#sent.set(id, sent);
  }

  #isFree(candidate: string): boolean {
    return this.#legal.test(candidate) && !this.#taken.has(candidate);
  }

  #make(id: string): string {
    const stem = id.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 32);
    for (let number = (this.#numbers.get(stem) ?? 0) + 1; ; number += 1) {
      const candidate = `${stem}_${number}`;
      if (!this.#isFree(candidate)) continue;
      this.#numbers.set(stem, number);
      return candidate;
    }
  }
}
