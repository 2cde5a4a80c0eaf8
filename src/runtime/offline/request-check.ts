import type { Context } from '../../domain/context.ts';
import type { Message } from '../../domain/message.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import { wireFormats } from '../../wire/formats.ts';

/**
 * Counts requests that break a rule of one of the three formats. Rendered and checked are the first and the last over each
 * version, and each that does not end as requests do, with a user message or a closed round: those between the two are the
 * first with more of the log behind it. (To check all of them took as long as all the rest of a replay.)
 */
export class RequestCheck {
  readonly #openCalls = new Set<string>();
  #last: Context | undefined;
  #isLastChecked = true;
  #invalid = 0;

  /** Told of every message of the log, in order. */
  note({ toolCalls = [], toolCallId }: Message): void {
    for (const { id } of toolCalls) this.#openCalls.add(id);
    if (toolCallId !== undefined) this.#openCalls.delete(toolCallId);
  }

  add({ version, head, items }: Context): void {
    const isFirst = this.#last?.version.number !== version.number;
    if (isFirst) this.end();
    // Its items may grow with the log before it is looked at.
    this.#last = { version, head, items: items.slice() };
    this.#isLastChecked = false;
    const endsAsUsual = this.#openCalls.size === 0 && items.at(-1)?.message.role !== 'assistant';
    if (isFirst || !endsAsUsual) this.end();
  }

  /** Checks what is left. */
  end(): void {
    if (this.#last === undefined || this.#isLastChecked) return;
    if (!isValid(this.#last)) this.#invalid += 1;
    this.#isLastChecked = true;
  }

  get invalid(): number {
    return this.#invalid;
  }
}

function isValid({ version, items }: Context): boolean {
  const messages = items.map(({ message }) => message);
  const request = { model: 'offline', system: '', tools: [], messages, version: version.number, maxOutputTokens: 1 };
  return WIRE_FORMATS.every((format) => {
    const { render, validate } = wireFormats[format];
    return validate(render(request).body).length === 0;
  });
}
