import type { Message, ToolCall } from '../domain/message.ts';
import type { WireFormat } from '../domain/raw-items.ts';

/** Stands for arguments that are no JSON object: the model reads back what it wrote, and the request stays legal. */
const INVALID_KEY = 'invalid_arguments';

/** A surrogate, escaped or not: only then can the parsed strings hold a lone one. */
const SURROGATE = /\\u[dD][89a-fA-F]|[\ud800-\udfff]/;

/** Digits, or an exponent, that may be beyond what a double holds. */
const BIG_NUMBER = /\d{16}|[eE]\+?\d{3}/;

export interface CallArguments {
  /** numbers that a double would change stand in it as text */
  readonly input: Readonly<Record<string, unknown>>;
  readonly arguments: string;
}

/** Arguments as a JSON object of well-formed text, whatever the model wrote (X7, X8). Its own text is kept where it is one. */
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

/** Whether arguments hold a number that a double would change: an id of 20 digits would name another thing. */
export function hasBigNumber(text: string): boolean {
  return BIG_NUMBER.test(text) && parseObject(text) !== undefined && mendInput(text).hasBigNumber;
}

interface MendedInput {
  readonly input: Record<string, unknown>;
  /** no string in it had to change */
  readonly isWellFormed: boolean;
  readonly hasBigNumber: boolean;
}

/** @param text a JSON object */
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

/** A fraction longer than a double's is as near as the tool would read it; a whole number is another. */
function isChanged(value: number, source: string): boolean {
  return !Number.isFinite(value) || (/^-?\d+$/.test(source) && BigInt(value) !== BigInt(source));
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** Ids that a format takes. Anthropic's rule is its own; the others are what their servers are known to accept. */
const LEGAL_IDS: Readonly<Record<WireFormat, RegExp>> = {
  anthropic: /^[a-zA-Z0-9_-]{1,64}$/,
  'openai-chat': /^[\x21-\x7e]{1,40}$/,
  'openai-responses': /^[a-zA-Z0-9_-]{1,64}$/,
};

/**
 * Ids of calls as they are sent. The provider's own wins, since what it signed may name it; where it is not legal or stands
 * twice in the request, the log's; where that is not free either, one made from it.
 */
export class CallIds {
  readonly #legal: RegExp;
  /** sent → ours */
  readonly #ours = new Map<string, string>();
  /** ours → sent */
  readonly #sent = new Map<string, string>();
  /** the last number that was tried behind a stem: 10,000 ids with one stem would otherwise try 50,000,000 */
  readonly #numbers = new Map<string, number>();

  constructor(messages: readonly Message[], format: WireFormat) {
    this.#legal = LEGAL_IDS[format];
    for (const { toolCalls = [] } of messages) for (const call of toolCalls) this.#choose(call);
  }

  /** sent → ours */
  get map(): ReadonlyMap<string, string> {
    return this.#ours;
  }

  /** The id under which a call of ours is sent; undefined for a call that the messages do not make. */
  sentOf(id: string): string | undefined {
    return this.#sent.get(id);
  }

  #choose({ id, providerId }: ToolCall): void {
    if (this.#sent.has(id)) return;
    const chosen = [providerId, id].find((candidate) => candidate !== undefined && this.#isFree(candidate));
    const sent = chosen ?? this.#make(id);
    this.#ours.set(sent, id);
    this.#sent.set(id, sent);
  }

  #isFree(candidate: string): boolean {
    return this.#legal.test(candidate) && !this.#ours.has(candidate);
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
