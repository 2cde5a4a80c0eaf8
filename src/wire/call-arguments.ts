import type { ToolCall } from '../domain/message.ts';

/** Stands for arguments that are no JSON object: the model reads back what it wrote, and the request stays legal. */
const INVALID_KEY = 'invalid_arguments';

/** A surrogate, escaped or not: only then can the parsed strings hold a lone one. */
const SURROGATE = /\\u[dD][89a-fA-F]|[\ud800-\udfff]/;

export interface CallArguments {
  readonly input: Readonly<Record<string, unknown>>;
  readonly arguments: string;
}

/** Arguments as a JSON object of well-formed text, whatever the model wrote (X7, X8). Its own text is kept where it is one. */
export function readCallArguments(call: Pick<ToolCall, 'arguments'>): CallArguments {
  const given = parseObject(call.arguments);
  if (given === undefined) {
    const input = call.arguments.trim() === '' ? {} : { [INVALID_KEY]: call.arguments.toWellFormed() };
    return { input, arguments: JSON.stringify(input) };
  }
  if (!SURROGATE.test(call.arguments)) return { input: given, arguments: call.arguments };
  const input = JSON.parse(call.arguments.toWellFormed(), (_key, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  ) as Record<string, unknown>;
  const isSame = JSON.stringify(input) === JSON.stringify(given);
  return { input, arguments: isSame ? call.arguments : JSON.stringify(input) };
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
