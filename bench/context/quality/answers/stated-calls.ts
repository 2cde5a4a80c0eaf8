/** A call that a context states, with the result that stands behind it. */
export interface StatedCall {
  /** Tool and arguments, as far as the context has them. */
  readonly text: string;
  readonly result: string | undefined;
  /** The context marks the result as an error. */
  readonly isMarked: boolean;
}

interface OpenCall {
  text: string;
  result: string | undefined;
  isMarked: boolean;
}

/** `→ name(…)` in messages, `- name(…)` or `… ⇒ result` in summaries. */
const CALL_IN_MESSAGE = /^→ (.*)$/;
const CALL_IN_LIST = /^- (?:[\w.-]+\(.*|.* ⇒ .*)$/;
const CONTINUED_CALL = '→ … ';
const OUTCOME = ' ⇒ ';
const RESULT_MESSAGE = /^\[tool( error)?\] ?(.*)$/;
const RESULT_LINE = '← ';
const SAYS_ERROR = /^(?:error|exit|return ?code|status)/i;
const OTHER_MESSAGE = /^\[(?:assistant|user|system)\]|^(?:user|agent): /;
const NEW_ROUND = /^\[(?:assistant|user)/;

/**
 * Reads calls and results from messages, from lines of a summary, and from forms with one line per call. In messages,
 * results follow parallel calls in the same order.
 */
export function readStatedCalls(context: string): StatedCall[] {
  const reader = new CallReader();
  for (const line of context.split('\n')) reader.read(line);
  return reader.calls;
}

class CallReader {
  readonly calls: OpenCall[] = [];
  /** Calls of the current round without a result. */
  #open: OpenCall[] = [];
  #current: OpenCall | undefined;
  /** The part that the next plain line continues. */
  #part: 'text' | 'result' | undefined;

  read(line: string): void {
    if (this.#readCall(line) || this.#readResult(line)) return;
    if (OTHER_MESSAGE.test(line)) {
      this.#part = undefined;
      if (NEW_ROUND.test(line)) this.#open = [];
    } else this.#continue(line);
  }

  #readCall(line: string): boolean {
    if (line.startsWith(CONTINUED_CALL) && this.#current !== undefined) {
      this.#current.text += `\n${line.slice(CONTINUED_CALL.length)}`;
      this.#part = 'text';
      return true;
    }
    if (!CALL_IN_MESSAGE.test(line) && !CALL_IN_LIST.test(line)) return false;
    const stated = line.slice(2);
    const at = stated.indexOf(OUTCOME);
    const result = at === -1 ? undefined : stated.slice(at + OUTCOME.length);
    const call = {
      text: at === -1 ? stated : stated.slice(0, at),
      result,
      isMarked: result?.startsWith('ERROR ') === true,
    };
    this.calls.push(call);
    this.#open.push(call);
    this.#current = call;
    this.#part = 'text';
    return true;
  }

  #readResult(line: string): boolean {
    const [, error, content] = RESULT_MESSAGE.exec(line) ?? [];
    if (content !== undefined) {
      const call = this.#open.shift();
      this.#part = 'result';
      if (call === undefined) return true;
      call.result = content;
      call.isMarked ||= error !== undefined;
      this.#current = call;
      return true;
    }
    if (!line.startsWith(RESULT_LINE)) return false;
    this.#part = 'result';
    const call = this.#current;
    if (call === undefined) return true;
    const stated = line.slice(RESULT_LINE.length);
    call.result = call.result === undefined ? stated : `${call.result}\n${stated}`;
    call.isMarked ||= SAYS_ERROR.test(stated);
    this.#open = this.#open.filter((one) => one !== call);
    return true;
  }

  #continue(line: string): void {
    const call = this.#current;
    if (call === undefined || this.#part === undefined) return;
    if (this.#part === 'text') call.text += `\n${line}`;
    else call.result = `${call.result ?? ''}\n${line}`;
  }
}
