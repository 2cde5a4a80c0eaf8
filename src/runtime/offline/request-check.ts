import type { Context } from '../../domain/context.ts';
import type { Message } from '../../domain/message.ts';
import { WIRE_FORMATS } from '../../domain/raw-items.ts';
import { wireFormats } from '../../wire/formats.ts';

/**
 * Counts requests that break a rule of one of the three formats. Rendered and checked is the last over each version, and each
 * that does not end as requests do, with a user message or a closed round: those before the last are its beginning, and the
 * version itself was checked at its commit. (To check all of them took as long as all the rest of a replay.)
 */
export class RequestCheck {
  readonly #openCalls = new Set<string>();
  /** the last request over its version, where that was not checked */
  #last: Context | undefined;
  #invalid = 0;

  /** Acknowledged of every message of the log, in order. */
  note({ toolCalls = [], toolCallId }: Message): void {
    for (const { id } of toolCalls) this.#openCalls.add(id);
    if (toolCallId !== undefined) this.#openCalls.delete(toolCallId);
  }

  add({ version, head, items }: Context): void {
    if (this.#last?.version.number !== version.number) this.end();
    // Its items may grow with the log before it is looked at.
    this.#last = { version, head, items: items.slice() };
    const endsAsUsual = this.#openCalls.size === 0 && items.at(-1)?.message.role !== 'assistant';
    if (!endsAsUsual) this.end();
  }

  /** Checks what is left. */
  end(): void {
    if (this.#last !== undefined && !isValid(this.#last)) this.#invalid += 1;
    this.#last = undefined;
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
