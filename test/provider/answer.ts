import { randomUUID } from 'node:crypto';
import { estimateTokens, type JsonObject, parseJson } from './json.ts';

export interface ScriptedCall {
  readonly name: string;
  /** An object, or any text that the model wrote. */
  readonly arguments: JsonObject | string;
  readonly id?: string;
}

/** Contents of an answer in order. */
export type ScriptedPart =
  | { readonly thinking: string; readonly isRedacted?: boolean }
  | { readonly text: string }
  | { readonly call: ScriptedCall }
  /** The provider's own summary of everything before (A10, R8). */
  | { readonly compaction: string };

/** Numbers of tokens. Absent numbers are estimated. */
export interface ScriptedUsage {
  /** All input, including cached and newly cached. */
  readonly input?: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  /** Output including thinking. */
  readonly output?: number;
  readonly thinking?: number;
}

/** An answer independent of formats. `thinking`, `text` and `calls` come first in this order, then `parts`. */
export interface ScriptedAnswer {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly parts?: readonly ScriptedPart[];
  /** Default `complete`. `window_full` is Anthropic's `model_context_window_exceeded`. */
  readonly end?: 'complete' | 'cut_off' | 'refusal' | 'window_full' | 'paused';
  readonly usage?: ScriptedUsage;
}

export interface AnswerCall {
  readonly id: string;
  readonly name: string;
  /** Arguments as the model wrote them. */
  readonly arguments: string;
  /** {} if the arguments are not an object. */
  readonly input: unknown;
}

export type AnswerPart = Exclude<ScriptedPart, { call: ScriptedCall }> | { readonly call: AnswerCall };

/** An answer with all defaults filled in. */
export interface Answer {
  readonly parts: readonly AnswerPart[];
  readonly calls: readonly AnswerCall[];
  readonly end: NonNullable<ScriptedAnswer['end']>;
  readonly usage: Required<ScriptedUsage>;
}

export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '').slice(0, 24);
}

/** @param request body that the usage is estimated from */
export function completeAnswer(script: ScriptedAnswer, request: JsonObject, callPrefix: string): Answer {
  const scripted: ScriptedPart[] = [
    ...(script.thinking === undefined ? [] : [{ thinking: script.thinking }]),
    ...(script.text === undefined ? [] : [{ text: script.text }]),
    ...(script.calls ?? []).map((call) => ({ call })),
    ...(script.parts ?? []),
  ];
  const parts = scripted.map((part) => ('call' in part ? { call: completeCall(part.call, callPrefix) } : part));
  const thinking = parts.flatMap((part) => ('thinking' in part ? [part.thinking] : []));
  return {
    parts,
    calls: parts.flatMap((part) => ('call' in part ? [part.call] : [])),
    end: script.end ?? 'complete',
    usage: {
      input: estimateTokens(request),
      cachedInput: 0,
      cacheWrite: 0,
      output: estimateTokens(parts) + 1,
      thinking: estimateTokens(thinking),
      ...script.usage,
    },
  };
}

function completeCall({ id, name, arguments: given }: ScriptedCall, prefix: string): AnswerCall {
  const text = typeof given === 'string' ? given : JSON.stringify(given);
  return { id: id ?? newId(prefix), name, arguments: text, input: parseJson(text) ?? {} };
}

/** Pieces of a streamed text. No piece splits a code point. */
export function cutText(text: string, size = 12): string[] {
  const points = Array.from(text);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) =>
    points.slice(index * size, (index + 1) * size).join(''),
  );
}
