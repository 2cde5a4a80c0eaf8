import { createHash } from 'node:crypto';
import { readJsonText } from '../domain/json-text.ts';
import type { Message, ToolCall } from '../domain/message.ts';
import { isMapping } from '../domain/parse.ts';
import type { RawFormat } from '../domain/raw-items.ts';

/** Key that wraps arguments which are not a JSON object, so that the model reads its own invalid text. */
const INVALID_KEY = 'invalid_arguments';

/** Matches a surrogate, escaped or not. Text without a match holds no lone surrogate. */
const SURROGATE = /\\u[dD][89a-fA-F]|[\ud800-\udfff]/;

/** Long digit runs or exponents, which JavaScript may not represent exactly. */
const BIG_NUMBER = /\d{16}|[eE]\+?\d{3}/;

interface CallArguments {
  /** Arguments as an object. Numbers that JavaScript would change are strings. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly arguments: string;
}

/** Makes arguments a JSON object with well-formed text (wire rules X7, X8). Valid arguments do not change. */
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

function mendInput(text: string): { readonly input: Record<string, unknown>; readonly isWellFormed: boolean } {
  let isWellFormed = true;
  const input = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value === 'string') {
      isWellFormed &&= value.isWellFormed();
      return value.toWellFormed();
    }
    const source = context?.source ?? '';
    return typeof value === 'number' && isChanged(value, source) ? source : value;
  }) as Record<string, unknown>;
  return { input, isWellFormed };
}

/** True if parsing changes the number, such as an id of 20 digits. False for a fraction, which tools round, too. */
function isChanged(value: number, source: string): boolean {
  return !Number.isFinite(value) || (/^-?\d+$/.test(source) && BigInt(value) !== BigInt(source));
}

export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = readJsonText(text);
  return isMapping(value) ? value : undefined;
}

/** Legal tool call ids. Anthropic documents its pattern. The patterns of OpenAI come from experiments with servers. */
const LEGAL_IDS: Readonly<Record<RawFormat, RegExp>> = {
  anthropic: /^[a-zA-Z0-9_-]{1,64}$/,
  'openai-chat': /^[\x21-\x7e]{1,40}$/,
  'openai-responses': /^[a-zA-Z0-9_-]{1,64}$/,
  'ai-sdk': /^[a-zA-Z0-9_-]{1,64}$/,
};

/** Nine letters or digits, as Mistral requires. */
export type CallIdForm = 'nine';

const NINE = /^[a-zA-Z0-9]{9}$/;
const NINE_LENGTH = 9;

/**
 * Chooses the id under which each tool call is sent. It takes the first legal id that no other call has:
 * 1. the provider's own id, because signed items may name it
 * 2. the id in the log
 * 3. an id derived from the log's id
 */
export class CallIds {
  readonly #legal: RegExp;
  readonly #form: CallIdForm | undefined;
  readonly #taken = new Set<string>();
  readonly #sent = new Map<string, string>();
  /** Last number added to each id stem. Without this map, 10,000 equal stems would take 50,000,000 attempts. */
  readonly #numbers = new Map<string, number>();

  constructor(messages: readonly Message[], format: RawFormat, form?: CallIdForm) {
    this.#form = form;
    this.#legal = form === 'nine' ? NINE : LEGAL_IDS[format];
    for (const { toolCalls = [] } of messages) for (const call of toolCalls) this.#choose(call);
  }

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
      const candidate = this.#form === 'nine' ? hashToNine(`${id} ${number}`) : `${stem}_${number}`;
      if (!this.#isFree(candidate)) continue;
      this.#numbers.set(stem, number);
      return candidate;
    }
  }
}

function hashToNine(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, NINE_LENGTH);
}
