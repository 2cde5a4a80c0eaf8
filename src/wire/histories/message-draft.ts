import type { Message } from '../../domain/message.ts';
import { joinPartTexts } from '../../domain/parts.ts';
import type { RawFormat, RawItem } from '../../domain/raw-items.ts';
import type { HistoryNotes } from './notes.ts';

/** Model name of imported reasoning. No model gets it back, because its signature fits only the original request. */
const IMPORTED = 'imported';

export interface ReadingContext {
  readonly notes: HistoryNotes;
  readonly callNames: CallNames;
}

/** Gives ids to calls. A result without an id belongs to the first open call of its name, or else of any name. */
export class CallNames {
  #count = 0;
  #open: { readonly id: string; readonly name: string }[] = [];
  readonly #taken = new Set<string>();

  take(id: string): void {
    this.#taken.add(id);
  }

  nameCall(name: string): string {
    do this.#count += 1;
    while (this.#taken.has(`call_${this.#count}`));
    const id = `call_${this.#count}`;
    this.#open.push({ id, name });
    return id;
  }

  nameResult(name: string | undefined): string | undefined {
    const call = this.#open.find((open) => open.name === name) ?? this.#open[0];
    this.#open = this.#open.filter((open) => open !== call);
    return call?.id;
  }
}

interface DraftCall {
  readonly id?: string | undefined;
  readonly name: string;
  readonly arguments: string;
}

export interface ReadResult {
  readonly content: string;
  readonly parts?: readonly unknown[] | undefined;
  readonly isError?: boolean | undefined;
}

interface DraftResult extends ReadResult {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

type Speech = 'system' | 'user' | 'assistant';

/**
 * Collects a foreign message with texts, tool calls and results. It becomes several messages: the calls with the text
 * before them, their results, and the text after them.
 */
export class MessageDraft {
  readonly #role: Speech;
  readonly #context: ReadingContext;
  readonly #format: RawFormat | undefined;
  readonly #messages: Message[] = [];
  #content = '';
  #parts: unknown[] = [];
  #hasMedia = false;
  #calls: NonNullable<Message['toolCalls']> = [];
  #items: RawItem[] = [];
  #results: Message[] = [];

  /** @param format format of the message's reasoning items, if it may have any */
  constructor(role: Speech, context: ReadingContext, format?: RawFormat) {
    this.#role = role;
    this.#context = context;
    this.#format = format;
  }

  addText(text: string, part?: unknown): void {
    this.endStep();
    this.#content = joinPartTexts([this.#content, text]);
    if (text !== '') this.#parts.push(part ?? { type: 'text', text });
  }

  addPart(part: unknown): void {
    this.endStep();
    this.#parts.push(part);
    this.#hasMedia = true;
  }

  addReasoning(item: RawItem): void {
    this.endStep();
    this.#items.push(item);
  }

  addCall({ id, name, arguments: text }: DraftCall): void {
    const { callNames } = this.#context;
    if (id !== undefined) callNames.take(id);
    this.#calls.push({ id: id ?? callNames.nameCall(name), name, arguments: text });
  }

  addResult({ id, name, content, parts, isError }: DraftResult): void {
    this.#results.push(resultOf(id ?? this.#context.callNames.nameResult(name), { content, parts, isError }));
  }

  /** Ends the answer after results, because a call after results is not parallel to the calls before the results. */
  endStep(): void {
    if (this.#results.length === 0) return;
    if (this.#hasContent) this.#flush();
    this.#messages.push(...this.#results);
    this.#results = [];
  }

  finish(isKept = true): Message[] {
    this.endStep();
    const isFirst = this.#messages.length === 0;
    if (this.#hasContent || (isFirst && isKept)) this.#flush();
    return this.#messages;
  }

  get #hasContent(): boolean {
    return this.#content !== '' || this.#parts.length > 0 || this.#calls.length > 0 || this.#items.length > 0;
  }

  #flush(): void {
    const isRaw = this.#items.length > 0 && this.#format !== undefined;
    this.#messages.push({
      role: this.#role,
      content: this.#content,
      ...(this.#calls.length > 0 && { toolCalls: this.#calls }),
      ...(this.#hasMedia && { parts: this.#parts }),
      ...(isRaw && { raw: { format: this.#format, model: IMPORTED, items: this.#items } }),
    });
    [this.#content, this.#parts, this.#hasMedia, this.#calls, this.#items] = ['', [], false, [], []];
  }
}

export function resultOf(toolCallId: string | undefined, { content, parts, isError }: ReadResult): Message {
  return {
    role: 'tool',
    ...(toolCallId !== undefined && { toolCallId }),
    content,
    ...(parts !== undefined && { parts: [...parts] }),
    ...(isError === true && { isError }),
  };
}
