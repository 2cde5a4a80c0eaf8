import type OpenAI from 'openai';
import type { ModelError } from '../../domain/model.ts';
import { isMapping } from '../../domain/parse.ts';
import type { ResponsesAnswer } from '../../wire/openai-responses/answer.ts';
import type { PieceListeners } from '../answer-stream.ts';
import { brokenOff, classifyFailure, readErrorFields, replacedAnswer } from '../provider-errors.ts';

type StreamEvent = OpenAI.Responses.ResponseStreamEvent;

interface StreamedResponse extends ResponsesAnswer {
  readonly usage?: OpenAI.Responses.ResponseUsage | null;
}

interface OpenItem {
  /** Whole after `response.output_item.done`. */
  item: Record<string, unknown>;
  isWhole: boolean;
  text: string;
  arguments: string;
  /** Index among the calls of the answer. Undefined if the item is no call. */
  readonly call: number | undefined;
}

/**
 * Reads the events of a Responses stream. The last event has the whole response. If a gateway sends an empty `output`,
 * the items of `response.output_item.done` replace it, or else the pieces of the items.
 */
export class ResponseReading {
  readonly #describe: (refusal: string) => string;
  readonly #items: OutputItems;
  #end: StreamedResponse | undefined;

  constructor(describe: (refusal: string) => string, listeners: PieceListeners) {
    this.#describe = describe;
    this.#items = new OutputItems(listeners);
  }

  /** Returns true if the event ends the answer. @throws ModelError if the event reports an error */
  add(event: unknown): boolean {
    if (isMapping(event)) this.#end = this.#read(event);
    return this.#end !== undefined;
  }

  finish(): StreamedResponse {
    if (this.#end === undefined) throw brokenOff();
    return this.#end;
  }

  #read(event: Record<string, unknown>): StreamedResponse | undefined {
    const { type } = event;
    const response: unknown = 'response' in event ? event['response'] : event;
    if (type === 'response.failed' || type === 'response.cancelled') throw readFailed(response, this.#describe);
    if (type === 'error')
      throw classifyFailure(readErrorFields({ ...event, type: undefined }), Date.now(), this.#describe);
    if (isEnd(type, event)) return finish(response, type, this.#items);
    // The cast is safe: the items check the fields that other servers leave out.
    this.#items.add(event as unknown as StreamEvent);
    return undefined;
  }
}

/** The Codex backend ends with `response.done`. A server that ignores `stream` sends a response. */
function isEnd(type: unknown, event: Readonly<Record<string, unknown>>): boolean {
  if (type === 'response.completed' || type === 'response.incomplete' || type === 'response.done') return true;
  return type === undefined && event['object'] === 'response';
}

function readFailed(response: unknown, describe: (refusal: string) => string): ModelError {
  const error = isMapping(response) ? response['error'] : undefined;
  return classifyFailure(readErrorFields(isMapping(error) ? error : {}), Date.now(), describe);
}

function finish(given: unknown, type: unknown, items: OutputItems): StreamedResponse {
  if (!isMapping(given)) throw replacedAnswer();
  const { status, output, error } = given;
  if (status === 'failed' && isMapping(error)) throw readFailed(given, () => '');
  const list: unknown[] = Array.isArray(output) ? output.filter(isMapping) : [];
  const whole = list.length > 0 ? list : items.list();
  if (whole.length === 0 && !Array.isArray(output)) throw replacedAnswer();
  // Gateways may leave the status out.
  const ended = type === 'response.incomplete' ? 'incomplete' : 'completed';
  // The cast is safe: `readResponsesAnswer` checks every field that it reads.
  return {
    ...given,
    status: typeof status === 'string' ? status : ended,
    output: whole,
  } as unknown as StreamedResponse;
}

class OutputItems {
  readonly #listeners: PieceListeners;
  readonly #items = new Map<unknown, OpenItem>();
  #lastText: unknown;
  #calls = 0;

  constructor(listeners: PieceListeners) {
    this.#listeners = listeners;
  }

  add(event: StreamEvent): void {
    const { onReasoning, onToolCall } = this.#listeners;
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        return this.#addText(event.output_index, event.delta);
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return onReasoning(event.delta);
      case 'response.output_item.added':
        if (isMapping(event.item)) this.#open(event.output_index, event.item);
        return;
      case 'response.function_call_arguments.delta': {
        const open = this.#find(event.output_index, 'function_call');
        open.arguments += event.delta;
        return onToolCall({ call: open.call ?? 0, arguments: event.delta });
      }
      case 'response.function_call_arguments.done':
        this.#find(event.output_index, 'function_call').arguments = event.arguments;
        return;
      case 'response.output_item.done': {
        if (!isMapping(event.item)) return;
        const open = this.#items.get(event.output_index) ?? this.#open(event.output_index, event.item);
        Object.assign(open, { item: event.item, isWhole: true });
        return;
      }
      default:
    }
  }

  list(): Record<string, unknown>[] {
    return [...this.#items.values()].map(({ item, isWhole, text, arguments: given }) => {
      if (isWhole) return item;
      if (item['type'] === 'function_call') return { ...item, arguments: given };
      return item['type'] === 'message' ? { ...item, content: [{ type: 'output_text', text, annotations: [] }] } : item;
    });
  }

  #addText(place: unknown, delta: string): void {
    if (delta === '') return;
    // `joinOutputTexts` puts the same separator between texts.
    if (this.#lastText !== undefined && this.#lastText !== place) this.#listeners.onText('\n\n');
    this.#lastText = place;
    this.#find(place, 'message').text += delta;
    this.#listeners.onText(delta);
  }

  #find(place: unknown, type: string): OpenItem {
    return this.#items.get(place) ?? this.#open(place, type === 'message' ? { type, role: 'assistant' } : { type });
  }

  #open(place: unknown, item: Record<string, unknown>): OpenItem {
    const isCall = item['type'] === 'function_call';
    const call = isCall ? this.#calls : undefined;
    if (isCall) {
      this.#calls += 1;
      this.#listeners.onToolCall({ call: this.#calls - 1, name: typeof item['name'] === 'string' ? item['name'] : '' });
    }
    const open: OpenItem = { item, isWhole: false, text: '', arguments: '', call };
    this.#items.set(place, open);
    return open;
  }
}
