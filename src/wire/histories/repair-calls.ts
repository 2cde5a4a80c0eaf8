import { fieldError } from '../../domain/errors.ts';
import type { OpenCall } from '../../domain/history.ts';
import { endsSlice, type Interruptible } from '../../domain/interruptible.ts';
import { CLOSING_RESULT, type Message, type ToolCall } from '../../domain/message.ts';
import type { HistoryNotes } from './notes.ts';

interface RepairOptions {
  readonly notes: HistoryNotes;
  /** Calls of the log that were open before these messages. */
  readonly openCalls?: readonly OpenCall[] | undefined;
  readonly placeOf: (index: number) => string;
}

interface RepairedMessage {
  readonly message: Message;
  /** Index of the message before the repair. An added result has the index of its call, or -1 for a call of the log. */
  readonly index: number;
}

/**
 * Repairs a history so that one result follows each tool call. An open call that a later user or assistant message
 * follows gets a result that says so. Calls at the end may stay open.
 * @throws orphan_result for a result without a call
 */
export function* repairCallsInSlices(
  messages: readonly Message[],
  options: RepairOptions,
): Interruptible<RepairedMessage[]> {
  const repair = new CallRepair(options);
  for (const [index, message] of messages.entries()) {
    repair.enter(message, index);
    if (endsSlice(index)) yield;
  }
  yield;
  return repair.arrange();
}

interface Call {
  readonly id: string;
  /** Index of the message with the call. -1: the log has the call. */
  readonly from: number;
  result?: RepairedMessage;
}

const SECOND_RESULT = 'a second result of a call was left out';

class CallRepair {
  readonly #options: RepairOptions;
  readonly #others: RepairedMessage[] = [];
  readonly #calls = new Map<number, Call[]>();
  /** Unanswered calls by each of their ids. An empty list: all calls with the id have results. */
  readonly #open = new Map<string, Call[]>();
  readonly #early: RepairedMessage[] = [];

  constructor(options: RepairOptions) {
    this.#options = options;
    const { openCalls = [] } = options;
    const calls = openCalls.map(({ id, providerId }) => this.#addCall({ id, from: -1 }, providerId));
    if (calls.length > 0) this.#calls.set(-1, calls);
  }

  enter(given: Message, index: number): void {
    if (given.role === 'tool') return this.#enterResult(given, index);
    const message = this.#nameCallsApart(given, index);
    this.#others.push({ message, index });
    if (message.toolCalls === undefined) return;
    const calls = message.toolCalls.map(({ id }) => this.#addCall({ id, from: index }));
    this.#calls.set(index, calls);
  }

  arrange(): RepairedMessage[] {
    for (const { message, index } of this.#early) this.#enterEarly(message, index);
    const lastSpeech = this.#others.findLast(({ message }) => speaks(message))?.index ?? -1;
    const arranged = [...this.#listResults(-1, lastSpeech)];
    for (const other of this.#others) arranged.push(other, ...this.#listResults(other.index, lastSpeech));
    return arranged;
  }

  /** Gives each call of a message its own id. Results of calls with one id come in the order of the calls. */
  #nameCallsApart(message: Message, index: number): Message {
    const { toolCalls } = message;
    if (toolCalls === undefined || new Set(toolCalls.map(({ id }) => id)).size === toolCalls.length) return message;
    const used = new Set<string>();
    const named = toolCalls.map((call, at): ToolCall => {
      if (!used.has(call.id)) {
        used.add(call.id);
        return call;
      }
      let number = 2;
      while (used.has(`${call.id}#${number}`)) number += 1;
      const id = `${call.id}#${number}`;
      used.add(id);
      const place = `${this.#options.placeOf(index)}.toolCalls[${at}].id`;
      this.#options.notes.add('repaired', place, 'the id of another call of the message was made unique');
      return { ...call, id };
    });
    return { ...message, toolCalls: named };
  }

  #addCall(call: Call, ...otherIds: readonly (string | undefined)[]): Call {
    for (const id of new Set([call.id, call.id.replace(/#\d+$/, ''), ...otherIds])) {
      if (id === undefined) continue;
      const open = this.#open.get(id);
      if (open === undefined) this.#open.set(id, [call]);
      else open.push(call);
    }
    return call;
  }

  #enterResult(message: Message, index: number): void {
    const open = this.#open.get(message.toolCallId ?? '');
    const call = open === undefined ? undefined : takeOpen(open);
    if (call !== undefined) return this.#answer(call, message, index);
    if (open === undefined) this.#early.push({ message, index });
    else this.#options.notes.add('repaired', this.#options.placeOf(index), SECOND_RESULT);
  }

  #enterEarly(message: Message, index: number): void {
    const { notes, placeOf } = this.#options;
    const named = message.toolCallId ?? '';
    const call = this.#open.get(named)?.find(({ result, from }) => result === undefined && from > index);
    if (call !== undefined) {
      notes.add('repaired', placeOf(index), 'a result that came before its call was moved behind the call');
      call.result = { message: { ...message, toolCallId: call.id }, index };
      return;
    }
    if (this.#open.has(named)) return notes.add('repaired', placeOf(index), SECOND_RESULT);
    const why = `no message has an unanswered tool call with the id ${named || '(no id given)'}`;
    throw fieldError('orphan_result', `${placeOf(index)}.toolCallId`, why);
  }

  #answer(call: Call, message: Message, index: number): void {
    call.result = { message: { ...message, toolCallId: call.id }, index };
    if ((this.#others.at(-1)?.index ?? -1) <= call.from) return;
    const what = 'a result that came after a later message was moved behind its call';
    this.#options.notes.add('repaired', this.#options.placeOf(index), what);
  }

  *#listResults(from: number, lastSpeech: number): Generator<RepairedMessage> {
    const calls = this.#calls.get(from) ?? [];
    const answered = calls.filter(({ result }) => result !== undefined);
    const byPlace = answered.toSorted((one, other) => (one.result?.index ?? 0) - (other.result?.index ?? 0));
    for (const { result } of byPlace) if (result !== undefined) yield result;
    if (from >= lastSpeech) return;
    for (const call of calls.filter(({ result }) => result === undefined)) {
      const at = from === -1 ? `call ${call.id} of the log` : this.#options.placeOf(from);
      this.#options.notes.add('repaired', at, 'a call without a result was closed, because the conversation went on');
      yield { message: { role: 'tool', toolCallId: call.id, content: CLOSING_RESULT.content }, index: from };
    }
  }
}

/** True for the user and the assistant. Once one of them has spoken, results of earlier calls can no longer come. */
function speaks({ role }: Message): boolean {
  return role === 'user' || role === 'assistant';
}

/** Takes the first open call of the newest message with an open call. */
function takeOpen(open: Call[]): Call | undefined {
  // A call has several ids, and its result may have been found by another id.
  while (open.length > 0 && open.at(-1)?.result !== undefined) open.pop();
  let first = open.length - 1;
  for (let at = first; at >= 0 && open[at]?.from === open.at(-1)?.from; at -= 1) {
    if (open[at]?.result === undefined) first = at;
  }
  return first < 0 ? undefined : open.splice(first, 1)[0];
}
