import type { Waiting, WaitingCall } from '../../../domain/turn.ts';
import type { CallPart, ResultPart, TurnView } from '../../client/index.ts';
import { type Mode, PartTable, type PartWriters } from '../front-end/part-table.ts';
import { writeItemId } from './response-names.ts';
import {
  type ItemStatus,
  OUTPUT_FORMS,
  type OutputItem,
  type ResponseBlock,
  type ResponseFacts,
  type ResponseStatus,
  writeApproval,
  writeCall,
  writeMcpCall,
  writeResponse,
} from './response-object.ts';

export type ResponseEvent = {
  readonly type: string;
  readonly sequence_number: number;
} & Readonly<Record<string, unknown>>;

/** An event's number encodes model step, item and character, so each reading of a response gives the same numbers. */
const STEP = 2 ** 24;
const ITEM = 2 ** 22;
const OPENING = 2;
const CALL_EVENTS = 8;

/** Events of calls come behind those of reasoning (0) and text (1). */
const CALLS_PLACE = 2;

interface OpenItem {
  readonly mode: Mode;
  readonly item: OutputItem;
  text: string;
}

const writeNothing = (): ResponseEvent[] => [];

/** Converts the parts of a turn to events of the Responses API. Each reading of a response has its own table. */
export class ResponseTable extends PartTable<ResponseEvent> {
  readonly #facts: ResponseFacts;
  readonly #output: OutputItem[] = [];
  readonly #calls = new Map<string, CallPart>();
  #open: OpenItem | undefined;
  /** Number of items before the open model step, which stay if the step restarts. */
  #kept = 0;
  #restarts = 0;
  /** Number of items that readers have, including void items. */
  #index = 0;
  #callEvents = 0;
  #last = 0;
  #status: ResponseStatus = 'in_progress';
  #view: TurnView | undefined;
  #block: ResponseBlock | undefined;
  /** True while readers know the response as queued. */
  #isQueued = false;
  /** Time since which the turn waits for its caller. */
  #since: number | undefined;

  constructor(facts: ResponseFacts) {
    const { answered } = facts.name;
    super({ answered: answered === undefined ? undefined : new Set([answered]) });
    this.#facts = facts;
  }

  get output(): readonly OutputItem[] {
    return this.#output;
  }

  get response(): object {
    const state = { status: this.#status, output: [...this.#output], view: this.#view, since: this.#since };
    return writeResponse(this.#facts, { ...state, block: this.#status === 'queued' ? this.#block : undefined });
  }

  start(isQueued: boolean): ResponseEvent[] {
    this.#status = isQueued ? 'queued' : 'in_progress';
    const created = this.#lifecycle('response.created', 0);
    const state = isQueued ? 'response.queued' : 'response.in_progress';
    const events = [created, this.#lifecycle(state, 1)];
    this.#status = 'in_progress';
    return events;
  }

  protected readonly writers: PartWriters<ResponseEvent> = {
    text: (part) => this.#addPiece('text', part.step, part.piece),
    reasoning: (part) => this.#addPiece('reasoning', part.step, part.piece),
    // The form of a call depends on who runs the call, which only the complete call shows.
    'tool-call-start': writeNothing,
    'tool-call-arguments': writeNothing,
    'tool-call': (part) => {
      this.#calls.set(part.call, part);
      return [...this.enterStep(part.step), ...this.#closeItem()];
    },
    'tool-result': (part) => this.#addResult(part),
    progress: writeNothing,
    data: writeNothing,
    steering: writeNothing,
    restart: ({ step }) => this.#restart(step),
    wait: ({ waiting }) => this.#addWait(waiting),
    behind: (part) => [this.#addBlock(part)],
    // The API has no event for a compaction of the context.
    compaction: writeNothing,
    end: ({ view }) => this.#end(view),
  };

  /**
   * Ends a reading, not the response. The event repeats the last number, so a reader that continues misses nothing.
   * @param after number of the last event that the reader had before
   */
  fail({ code, message }: { readonly code: string; readonly message: string }, after: number): ResponseEvent {
    return this.#write('error', Math.max(this.#last, after), { code, message, param: null });
  }

  #addPiece(mode: Mode, step: number, delta: string): ResponseEvent[] {
    const events = this.enterStep(step);
    const hasText = this.#output.slice(this.#kept).some(({ type }) => type === 'message');
    // A finished item cannot be reopened.
    if (mode === 'reasoning' && (this.#open?.mode === 'text' || hasText)) return events;
    if (this.#open?.mode !== mode) events.push(...this.#closeItem(), ...this.#openItem(mode));
    const open = this.#open;
    if (open === undefined) return events;
    open.text += delta;
    const { textEvent, place, logprobs } = OUTPUT_FORMS[mode];
    const at = this.#place(place, OPENING + open.text.length);
    return [...events, this.#write(`${textEvent}.delta`, at, { ...this.#address(open), delta, ...logprobs })];
  }

  #addBlock(block: ResponseBlock): ResponseEvent {
    this.#block = block;
    this.#status = 'queued';
    return this.#lifecycle('response.queued', Math.max(OPENING, this.#last + 1));
  }

  protected beginStep(): ResponseEvent[] {
    this.#status = 'in_progress';
    this.#kept = this.#output.length;
    this.#callEvents = 0;
    return this.#isQueued ? [this.#lifecycle('response.in_progress', this.#place(0, 0))] : [];
  }

  protected closeStep(): ResponseEvent[] {
    return this.#closeItem();
  }

  #openItem(mode: Mode): ResponseEvent[] {
    const attempt = this.#restarts === 0 ? '' : `_${this.#restarts}`;
    const { prefix, partEvent, place, writePart, writeItem } = OUTPUT_FORMS[mode];
    const id = writeItemId(prefix, this.#facts.name, `${this.step}${attempt}`);
    const item = writeItem(id, 'in_progress', []);
    const open = { mode, item, text: '' };
    this.#open = open;
    const part = writePart('');
    return [
      this.#write('response.output_item.added', this.#place(place, 1), { output_index: this.#index, item }),
      this.#write(`${partEvent}.added`, this.#place(place, OPENING), { ...this.#address(open), part }),
    ];
  }

  #closeItem(status: ItemStatus = 'completed'): ResponseEvent[] {
    const open = this.#open;
    if (open === undefined) return [];
    const { textEvent, partEvent, place, logprobs, writePart, writeItem } = OUTPUT_FORMS[open.mode];
    const { text } = open;
    const address = this.#address(open);
    const part = writePart(text);
    const item = writeItem(open.item.id, status, [part]);
    const done = { output_index: this.#index, item };
    const events = [
      this.#write(`${textEvent}.done`, this.#place(place, ITEM - 3), { ...address, text, ...logprobs }),
      this.#write(`${partEvent}.done`, this.#place(place, ITEM - 2), { ...address, part }),
      this.#write('response.output_item.done', this.#place(place, ITEM - 1), done),
    ];
    this.#push(item);
    this.#open = undefined;
    return events;
  }

  #addResult({ call, content, isError }: ResultPart): ResponseEvent[] {
    const made = this.#calls.get(call);
    this.#calls.delete(call);
    if (made === undefined) return [];
    return this.#addCallItem(writeMcpCall(this.#facts.name, made, { content, isError }));
  }

  #addWait({ for: kind, calls, since }: Waiting): ResponseEvent[] {
    if (kind !== 'tools' && kind !== 'approval') return [];
    this.#since = since;
    const events = calls.flatMap((call) => (kind === 'tools' ? this.#askResult(call) : this.#askApproval(call)));
    return [...events, ...this.#finish('completed')];
  }

  #askResult(asked: WaitingCall): ResponseEvent[] {
    if (asked.decision !== undefined) return [];
    const item = writeCall(this.#facts.name, asked);
    const { id, name, arguments: written } = item;
    const address = { item_id: id, output_index: this.#index };
    const begun = { ...item, arguments: '', status: 'in_progress' };
    const events = [
      this.#writeCall('response.output_item.added', { output_index: address.output_index, item: begun }),
      this.#writeCall('response.function_call_arguments.delta', { ...address, delta: written }),
      this.#writeCall('response.function_call_arguments.done', { ...address, name, arguments: written }),
      this.#writeCall('response.output_item.done', { output_index: address.output_index, item }),
    ];
    this.#push(item);
    return events;
  }

  #askApproval(call: WaitingCall): ResponseEvent[] {
    return writeApproval(this.#facts.name, call).flatMap((item) => this.#addCallItem(item));
  }

  #addCallItem(item: OutputItem): ResponseEvent[] {
    const place = { output_index: this.#index, item };
    this.#push(item);
    return [this.#writeCall('response.output_item.added', place), this.#writeCall('response.output_item.done', place)];
  }

  #push(item: OutputItem): void {
    this.#output.push(item);
    this.#index += 1;
  }

  /** Readers cannot remove an item, so the open item ends without content. The last event leaves it out. */
  #restart(step: number): ResponseEvent[] {
    if (step !== this.step) {
      this.isDone = true;
      const message = 'Recorded steps of this response were lost. Read it again from its start.';
      return [this.#write('error', (this.step + 1) * STEP, { code: 'conflict', message, param: null })];
    }
    const open = this.#open;
    this.#open = undefined;
    this.#output.length = this.#kept;
    this.#restarts += 1;
    if (open === undefined) return [];
    const item = { ...open.item, status: 'incomplete' };
    const ended = this.#write('response.output_item.done', step * STEP, { output_index: this.#index, item });
    this.#index += 1;
    return [ended];
  }

  #end(view: TurnView): ResponseEvent[] {
    this.#view = view;
    const closed = this.#closeItem(view.stopped === undefined ? 'completed' : 'incomplete');
    switch (view.state) {
      case 'completed':
        return [...closed, ...this.#finish(view.answer.end === undefined ? 'completed' : 'incomplete')];
      case 'failed':
        return [...closed, ...this.#finish('failed')];
      case 'canceled':
        return [...closed, ...this.#finish('cancelled')];
      case 'waiting':
        return [...closed, ...this.#addWait(view.waiting)];
      default:
        // Only a reader with a time limit gets a turn that has not ended.
        this.#status = view.state === 'running' ? 'in_progress' : 'queued';
        return closed;
    }
  }

  #finish(status: ResponseStatus): ResponseEvent[] {
    this.isDone = true;
    this.#status = status;
    // The API has no event for a canceled response.
    const type = status === 'cancelled' ? 'response.incomplete' : `response.${status}`;
    return [this.#lifecycle(type, (this.step + 1) * STEP)];
  }

  #lifecycle(type: string, place: number): ResponseEvent {
    this.#isQueued = type === 'response.queued';
    return this.#write(type, place, { response: this.response });
  }

  #address({ mode, item }: OpenItem): object {
    return { item_id: item.id, output_index: this.#index, ...OUTPUT_FORMS[mode].index };
  }

  #place(place: number, offset: number): number {
    return this.step * STEP + place * ITEM + offset;
  }

  #writeCall(type: string, fields: object): ResponseEvent {
    this.#callEvents += 1;
    return this.#write(type, this.#place(CALLS_PLACE, this.#callEvents * CALL_EVENTS), fields);
  }

  #write(type: string, place: number, fields: object): ResponseEvent {
    this.#last = place;
    return { type, sequence_number: place, ...fields };
  }
}
