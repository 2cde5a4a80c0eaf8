import { randomUUID } from 'node:crypto';
import { estimateTokens, type JsonObject, parseJson } from './json.ts';

export interface ScriptedCall {
  readonly name: string;
  /** Arguments of the tool call, as an object or as any text that the model wrote. */
  readonly arguments: JsonObject | string;
  readonly id?: string;
}

/** The parts of a scripted answer, in order. */
export type ScriptedPart =
  | { readonly thinking: string; readonly isRedacted?: boolean }
  | { readonly text: string }
  | { readonly call: ScriptedCall }
  /** A summary that the provider itself wrote of everything before it (wire rules A10, R8). */
  | { readonly compaction: string };

/** Token counts. Absent counts are estimated. */
export interface ScriptedUsage {
  /** All input tokens, including those read from and written to the prompt cache. */
  readonly input?: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  /** Output tokens, including thinking. */
  readonly output?: number;
  readonly thinking?: number;
}

/**
 * An answer that tests script, for any wire format. It starts with `thinking`, `text` and `calls` in this order,
 * followed by `parts`.
 */
export interface ScriptedAnswer {
  readonly thinking?: string;
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  readonly parts?: readonly ScriptedPart[];
  /** How the answer ends. Default `complete`. `window_full` is Anthropic's `model_context_window_exceeded`. */
  readonly end?: 'complete' | 'cut_off' | 'refusal' | 'window_full' | 'paused';
  readonly usage?: ScriptedUsage;
}

export interface AnswerCall {
  readonly id: string;
  readonly name: string;
  /** Arguments of the tool call, as the model wrote them. */
  readonly arguments: string;
  /** The parsed arguments, or {} if they are not an object. */
  readonly input: unknown;
}

export type AnswerPart = Exclude<ScriptedPart, { call: ScriptedCall }> | { readonly call: AnswerCall };

/** A scripted answer with all defaults filled in. */
export interface Answer {
  readonly parts: readonly AnswerPart[];
  readonly calls: readonly AnswerCall[];
  readonly end: NonNullable<ScriptedAnswer['end']>;
  readonly usage: Required<ScriptedUsage>;
}

export function newId(prefix: string): string {
  return prefix + randomUUID().replaceAll('-', '').slice(0, 24);
}

/** @param request request body from which missing token counts are estimated */
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

/** Cuts a text into the pieces in which it is streamed. No piece splits a code point. */
export function cutText(text: string, size = 12): string[] {
  const points = Array.from(text);
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index) =>
    points.slice(index * size, (index + 1) * size).join(''),
  );
}
