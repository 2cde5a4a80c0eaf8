import { inspect, isDeepStrictEqual } from 'node:util';
import type { Tool } from '../../domain/agent.ts';
import { writeBoundedJson } from '../../domain/bounded-json.ts';
import { readJsonText, refuseJsonText } from '../../domain/json-text.ts';
import { MAX_MESSAGE_BYTES } from '../../domain/message.ts';
import { nameIssues } from '../../domain/parse.ts';
import type { RecordedCall } from '../../domain/turn.ts';

export type ReadInput =
  | { readonly status: 'valid'; readonly input: unknown }
  /** `why` names the invalid field of the tool call's arguments. */
  | { readonly status: 'invalid'; readonly why: string };

/** Parses the arguments of a tool call by the tool's schema. */
export function readInput(tool: Tool, text: string): ReadInput {
  // Some models send empty text as the arguments of a tool that takes none.
  const given = text.trim() === '' ? '{}' : text;
  const refusal = refuseJsonText(given);
  if (refusal !== undefined) return { status: 'invalid', why: `arguments: ${refusal.why}` };
  const value = readJsonText(given);
  if (value === undefined) return { status: 'invalid', why: 'arguments: not valid JSON' };
  try {
    const { success, data, error } = tool.input.safeParse(value);
    if (success) return { status: 'valid', input: data };
    return {
      status: 'invalid',
      why: nameIssues(error, 'arguments', 'invalid_input')[0]?.message ?? 'arguments: invalid',
    };
  } catch {
    return { status: 'invalid', why: "arguments: the tool's schema threw an error while it checked them" };
  }
}

type ShownInput = Required<Pick<RecordedCall, 'input'>> & Pick<RecordedCall, 'isShownOnly'>;

const INPUT_BOUNDS = { maxCharacters: MAX_MESSAGE_BYTES };

/**
 * Writes an input as the text that a wait records and a person reads. JSON is used only if parsing it gives an equal
 * value, so that the approved text and the value of `run` are the same. Any other value is written by `inspect`.
 * @returns undefined for an input that is too large to be shown
 */
export function showInput(input: unknown): ShownInput | undefined {
  const written = writeBoundedJson(input, INPUT_BOUNDS);
  if (written.status === 'written' && isDeepStrictEqual(JSON.parse(written.json), input)) {
    return { input: written.json };
  }
  const text = inspect(input, {
    depth: 200,
    maxArrayLength: null,
    maxStringLength: null,
    customInspect: false, // a class could hide a part of its value
  });
  return text.length > MAX_MESSAGE_BYTES ? undefined : { input: text, isShownOnly: true };
}

/** Explains an input for which `showInput` returns undefined. */
export const UNSHOWN_INPUT = `arguments: the tool's schema makes an input of more than ${MAX_MESSAGE_BYTES} characters. No person can check such an input. Send fewer arguments`;

/**
 * Returns the input that a person approved, whatever the tool's schema makes of the arguments now. If JSON cannot hold
 * the input, the schema makes it again. It then runs only if it still reads as the approved text.
 */
export function restoreInput(tool: Tool, { arguments: text, input, isShownOnly }: RecordedCall): ReadInput {
  if (input !== undefined && isShownOnly !== true) {
    const recorded = readJsonText(input);
    if (recorded !== undefined) return { status: 'valid', input: recorded };
    return { status: 'invalid', why: 'arguments: the recorded input is not JSON. The call did not run' };
  }
  const read = readInput(tool, text);
  // An earlier release recorded no input.
  if (input === undefined || read.status === 'invalid') return read;
  const shown = showInput(read.input);
  if (shown?.input === input && shown.isShownOnly === true) return read;
  const why = "arguments: the tool's schema no longer makes the input that was approved. The call did not run";
  return { status: 'invalid', why };
}
