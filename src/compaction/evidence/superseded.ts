import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { readJsonText } from '../../domain/json-text.ts';
import type { Message, ToolCall } from '../../domain/message.ts';

/**
 * Finds stale results, by index of their messages:
 * - The same call was made again later, such as a second read of a file. A failed repetition does not count after a
 * success.
 * - The call failed, and the same tool later succeeded with the same target, such as an edit of the same file.
 */
export function* findSuperseded(messages: readonly Message[]): Interruptible<Set<number>> {
  const calls = new Map<string, ToolCall>();
  const callOf: (ToolCall | undefined)[] = [];
  for (const [index, { toolCalls = [], toolCallId }] of messages.entries()) {
    for (const call of toolCalls) calls.set(call.id, call);
    callOf.push(toolCallId === undefined ? undefined : calls.get(toolCallId));
    if (endsSlice(index)) yield;
  }
  return yield* findSupersededCalls(callOf, (index) => messages[index]?.isError === true);
}

export function* findSupersededCalls(
  callOf: readonly (ToolCall | undefined)[],
  isError: (index: number) => boolean,
): Interruptible<Set<number>> {
  const results = new ResultsInForce();
  for (const [index, call] of callOf.entries()) {
    if (call !== undefined) results.add(call, { index, isError: isError(index) });
    if (endsSlice(index)) yield;
  }
  return results.superseded;
}

interface Result {
  readonly index: number;
  readonly isError: boolean;
}

interface LastResults {
  success: number | undefined;
  error: number | undefined;
}

class ResultsInForce {
  readonly superseded = new Set<number>();
  /** Last results by tool, then by arguments. A key that joins both would take longer to build than all other work. */
  readonly #ofTool = new Map<string, Map<string, LastResults>>();
  /** Errors that no success has followed, by tool and then by target. */
  readonly #errorsOfTool = new Map<string, Map<string, number[]>>();

  add(call: ToolCall, { index, isError }: Result): void {
    const last = this.#lastOf(call);
    if (last.error !== undefined) this.superseded.add(last.error);
    if (isError) {
      last.error = index;
      this.#openError(call, index);
      return;
    }
    if (last.success !== undefined) this.superseded.add(last.success);
    last.success = index;
    this.#closeErrors(call);
  }

  #lastOf(call: ToolCall): LastResults {
    let ofTool = this.#ofTool.get(call.name);
    if (ofTool === undefined) this.#ofTool.set(call.name, (ofTool = new Map()));
    let last = ofTool.get(call.arguments);
    if (last === undefined) ofTool.set(call.arguments, (last = { success: undefined, error: undefined }));
    return last;
  }

  #openError(call: ToolCall, index: number): void {
    const target = targetOf(call);
    if (target === undefined) return;
    const errors = this.#errorsOfTool.get(call.name) ?? new Map<string, number[]>();
    this.#errorsOfTool.set(call.name, errors);
    const open = errors.get(target);
    if (open === undefined) errors.set(target, [index]);
    else open.push(index);
  }

  /** Arguments are parsed only while the tool has open errors, because parsing costs far more than all other work. */
  #closeErrors(call: ToolCall): void {
    const errors = this.#errorsOfTool.get(call.name);
    if (errors === undefined || errors.size === 0) return;
    const target = targetOf(call);
    if (target === undefined) return;
    for (const index of errors.get(target) ?? []) this.superseded.add(index);
    errors.delete(target);
  }
}

/** Names of arguments that say what a call does, and to what. */
const TARGET = /^(?:command|cmd|argv|script|code|query|sql|url|uri)$|(?:path|file|filename)$/i;
/** Names of arguments that are the same for calls with different targets. */
const SETTING =
  /^(?:description|reason|thought|explanation|title|action|mode|type|kind|language|shell|cwd|workdir|directory|timeout|env|session|sessionId|session_id|restart|background)$/i;

/** Writes the arguments that name the target of a call, or else the first argument that is no setting. */
function targetOf({ arguments: text }: ToolCall): string | undefined {
  const parsed = readJsonText(text);
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const entries = Object.entries(parsed);
  const named = entries.filter(([key]) => TARGET.test(key));
  const first = entries.find(([key, value]) => !SETTING.test(key) && typeof value !== 'boolean');
  const target = named.length > 0 ? named : first;
  return target === undefined ? undefined : JSON.stringify(target);
}
