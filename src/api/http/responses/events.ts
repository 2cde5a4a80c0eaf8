import type { WaitingCall } from '../../../domain/turn.ts';
import type { CallPart, ResultPart, TurnPart, TurnView } from '../../client/index.ts';
import {
  logprobs,
  type Mode,
  type OutputItem,
  type ResponseBlock,
  type ResponseFacts,
  type ResponseStatus,
  writeApproval,
  writeCall,
  writeMcpCall,
  writePart,
  writeResponse,
} from './response-object.ts';

export type ResponseEvent = {
  readonly type: string;
  readonly sequence_number: number;
} & Readonly<Record<string, unknown>>;

/**
 * Distance between the numbers of two steps or items. A number encodes step, item and character, so each reading of a
 * response gives the same numbers.
 */
const STEP = 2 ** 24;
const ITEM = 2 ** 22;
const OPENING = 2;
const CALL_EVENTS = 8;

const PLACES = { reasoning: 0, text: 1, calls: 2 } as const;

interface OpenItem {
  readonly mode: Mode;
  readonly item: OutputItem;
  text: string;
}

/**
 * Converts the parts of a turn to events. Each reading of a response has its own instance. The response is over once
 * `isDone` is true.
 */
export class ResponseTable {
  readonly #facts: ResponseFacts;
  readonly #output: OutputItem[] = [];
  readonly #calls = new Map<string, CallPart>();
  #open: OpenItem | undefined;
  #step = 0;
  /** Items before the open step, which stay if the step restarts. */
  #kept = 0;
  #restarts = 0;
  /** Number of items that readers have, including void items. */
  #index = 0;
  #callEvents = 0;
  #last = 0;
  #mutedStep: number;
  #status: ResponseStatus = 'in_progress';
  #view: TurnView | undefined;
  #block: ResponseBlock | undefined;
  isDone = false;

  constructor(facts: ResponseFacts) {
    this.#facts = facts;
    this.#mutedStep = facts.name.answered === undefined ? 0 : Number.POSITIVE_INFINITY;
  }

  get response(): object {
    const state = { status: this.#status, output: [...this.#output], view: this.#view };
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

  add(part: TurnPart): ResponseEvent[] {
    if (part.type === 'tool-call' && part.call === this.#facts.name.answered) this.#mutedStep = part.step;
    if ('step' in part && part.step <= this.#mutedStep) return [];
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return this.#addPiece(part.type, part.step, part.piece);
      case 'tool-call':
        this.#calls.set(part.call, part);
        return [...this.#enterStep(part.step), ...this.#closeItem()];
      case 'tool-result':
        return this.#addResult(part);
      case 'restart':
        return this.#restart(part.step);
      case 'wait':
        return this.#addWait(part.waiting.for, part.waiting.calls);
      case 'behind':
        return [this.#addBlock(part)];
      case 'end':
        return this.#end(part.view);
      default:
        // Only a complete call shows who runs the call. Compactions have no form in this protocol.
        return [];
    }
  }

  /**
   * Ends a reading, while the response goes on. The event repeats the last number, so a reader that continues behind
   * it misses nothing.
   * @param after number of the last event that the reader had before
   */
  fail({ code, message }: { readonly code: string; readonly message: string }, after: number): ResponseEvent {
    return this.#write('error', Math.max(this.#last, after), { code, message, param: null });
  }

  #addPiece(mode: Mode, step: number, delta: string): ResponseEvent[] {
    const events = this.#enterStep(step);
    const hasText = this.#output.slice(this.#kept).some(({ type }) => type === 'message');
    // A finished item cannot be reopened.
    if (mode === 'reasoning' && (this.#open?.mode === 'text' || hasText)) return events;
    if (this.#open?.mode !== mode) events.push(...this.#closeItem(), ...this.#openItem(mode));
    const open = this.#open;
    if (open === undefined) return events;
    open.text += delta;
    const at = OPENING + open.text.length;
    const type = mode === 'text' ? 'response.output_text.delta' : 'response.reasoning_summary_text.delta';
    return [...events, this.#write(type, this.#place(mode, at), { ...this.#address(open), delta, ...logprobs(mode) })];
  }

  /** Reports at once that the response waits behind another response. */
  #addBlock(block: ResponseBlock): ResponseEvent {
    this.#block = block;
    this.#status = 'queued';
    return this.#lifecycle('response.queued', Math.max(OPENING, this.#last + 1));
  }

  #enterStep(step: number): ResponseEvent[] {
    if (step === this.#step) return [];
    const closed = this.#closeItem();
    this.#status = 'in_progress';
    this.#step = step;
    this.#kept = this.#output.length;
    this.#callEvents = 0;
    return closed;
  }

  #openItem(mode: Mode): ResponseEvent[] {
    const attempt = this.#restarts === 0 ? '' : `_${this.#restarts}`;
    const id = `${mode === 'text' ? 'msg' : 'rs'}_${this.#facts.name.turn}_${this.#step}${attempt}`;
    const item: OutputItem =
      mode === 'text'
        ? { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] }
        : { id, type: 'reasoning', summary: [] };
    this.#open = { mode, item, text: '' };
    const type = mode === 'text' ? 'response.content_part.added' : 'response.reasoning_summary_part.added';
    const part = writePart(mode, '');
    return [
      this.#write('response.output_item.added', this.#place(mode, 1), { output_index: this.#index, item }),
      this.#write(type, this.#place(mode, OPENING), { ...this.#address(this.#open), part }),
    ];
  }

  #closeItem(status: 'completed' | 'incomplete' = 'completed'): ResponseEvent[] {
    const open = this.#open;
    if (open === undefined) return [];
    const { mode, text } = open;
    const address = this.#address(open);
    const part = writePart(mode, text);
    const item: OutputItem =
      mode === 'text' ? { ...open.item, status, content: [part] } : { ...open.item, summary: [part] };
    const [textDone, partDone] =
      mode === 'text'
        ? ['response.output_text.done', 'response.content_part.done']
        : ['response.reasoning_summary_text.done', 'response.reasoning_summary_part.done'];
    const events = [
      this.#write(textDone, this.#place(mode, ITEM - 3), { ...address, text, ...logprobs(mode) }),
      this.#write(partDone, this.#place(mode, ITEM - 2), { ...address, part }),
      this.#write('response.output_item.done', this.#place(mode, ITEM - 1), {
        output_index: this.#index,
        item,
      }),
    ];
    this.#push(item);
    this.#open = undefined;
    return events;
  }

  #addResult({ call, content, isError }: ResultPart): ResponseEvent[] {
    const made = this.#calls.get(call);
    this.#calls.delete(call);
    if (made === undefined) return [];
    return this.#addCallItem(writeMcpCall(made, { content, isError }));
  }

  #addWait(kind: string, calls: readonly WaitingCall[]): ResponseEvent[] {
    if (kind !== 'tools' && kind !== 'approval') return [];
    const events = calls.flatMap((call) => (kind === 'tools' ? this.#askResult(call) : this.#askApproval(call)));
    return [...events, ...this.#finish('completed')];
  }

  #askResult(asked: WaitingCall): ResponseEvent[] {
    if (asked.decision !== undefined) return [];
    const item = writeCall(asked);
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
    return writeApproval(call).flatMap((item) => this.#addCallItem(item));
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

  /** Readers cannot remove an item, so the open item ends without content. The last event leaves void items out. */
  #restart(step: number): ResponseEvent[] {
    if (step !== this.#step) {
      this.isDone = true;
      const message = 'Recorded steps of this response were lost. Read it again from its start.';
      return [this.#write('error', (this.#step + 1) * STEP, { code: 'conflict', message, param: null })];
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
        return [...closed, ...this.#addWait(view.waiting.for, view.waiting.calls)];
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
    return [this.#lifecycle(type, (this.#step + 1) * STEP)];
  }

  #lifecycle(type: string, place: number): ResponseEvent {
    return this.#write(type, place, { response: this.response });
  }

  #address({ mode, item }: OpenItem): object {
    const index = mode === 'text' ? { content_index: 0 } : { summary_index: 0 };
    return { item_id: item.id, output_index: this.#index, ...index };
  }

  #place(mode: keyof typeof PLACES, offset: number): number {
    return this.#step * STEP + PLACES[mode] * ITEM + offset;
  }

  #writeCall(type: string, fields: object): ResponseEvent {
    this.#callEvents += 1;
    return this.#write(type, this.#place('calls', this.#callEvents * CALL_EVENTS), fields);
  }

  #write(type: string, place: number, fields: object): ResponseEvent {
    this.#last = place;
    return { type, sequence_number: place, ...fields };
  }
}
