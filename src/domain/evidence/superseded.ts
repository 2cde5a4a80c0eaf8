import type { Message, ToolCall } from '../message.ts';
import { endsSlice, runToEnd, type Sliced } from '../sliced.ts';

/**
 * Finds results that a later result has made stale:
 * - The same call was made again later, such as a second read of a file. A failed repetition does not count after a success.
 * - The call failed, and the same tool later succeeded with the same first argument, such as an edit of the same file.
 *
 * @returns indexes of the messages that hold the stale results
 */
export function findSuperseded(messages: readonly Message[]): Set<number> {
  return runToEnd(findSupersededInSlices(messages));
}

export function* findSupersededInSlices(messages: readonly Message[]): Sliced<Set<number>> {
  const calls = new Map<string, ToolCall>();
  const results = new ResultsInForce();
  for (const [index, { toolCalls = [], toolCallId, isError = false }] of messages.entries()) {
    for (const call of toolCalls) calls.set(call.id, call);
    const call = toolCallId === undefined ? undefined : calls.get(toolCallId);
    if (call !== undefined) results.add(call, { index, isError });
    if (endsSlice(index)) yield;
  }
  return results.superseded;
}

interface Result {
  readonly index: number;
  readonly isError: boolean;
}

/** Messages that hold the last success and the last error of a call. */
interface LastResults {
  success?: number;
  error?: number;
}

class ResultsInForce {
  readonly superseded = new Set<number>();
  /** By tool and arguments. */
  readonly #ofCall = new Map<string, LastResults>();
  /** Errors that no success has answered: by tool, then by first argument. */
  readonly #errorsOfTool = new Map<string, Map<string, number[]>>();

  add(call: ToolCall, { index, isError }: Result): void {
    const key = `${call.name} ${call.arguments}`;
    const last = this.#ofCall.get(key) ?? {};
    this.#ofCall.set(key, last);
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

  #openError(call: ToolCall, index: number): void {
    const target = firstArgument(call);
    if (target === undefined) return;
    const errors = this.#errorsOfTool.get(call.name) ?? new Map<string, number[]>();
    this.#errorsOfTool.set(call.name, errors);
    const open = errors.get(target);
    if (open === undefined) errors.set(target, [index]);
    else open.push(index);
  }

  /** Arguments are parsed only while the tool has errors, because parsing costs far more than the rest. */
  #closeErrors(call: ToolCall): void {
    const errors = this.#errorsOfTool.get(call.name);
    if (errors === undefined || errors.size === 0) return;
    const target = firstArgument(call);
    if (target === undefined) return;
    for (const index of errors.get(target) ?? []) this.superseded.add(index);
    errors.delete(target);
  }
}

/** @returns the first argument as JSON, or undefined if the call has none */
function firstArgument({ arguments: text }: ToolCall): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const [first] = Object.entries(parsed);
    return first === undefined ? undefined : JSON.stringify(first);
  } catch {
    return undefined;
  }
}
