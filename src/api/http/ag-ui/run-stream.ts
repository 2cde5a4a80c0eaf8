import type { Waiting } from '../../../domain/turn.ts';
import type { Backend } from '../front-end/backend.ts';
import { writeData } from '../front-end/server-facts.ts';
import { convertToForm } from './event-form.ts';
import { type AgUiEvent, type AgUiMessage, EventTable } from './events.ts';
import type { RunRequest } from './run-input.ts';
import { readAllResults } from './run-messages.ts';
import type { RunTurns } from './run-turns.ts';

/** Streams the events of one run: of the turn that it answers, and of its own turn. */
export class RunStream {
  readonly #backend: Backend;
  readonly #request: RunRequest;
  readonly #taking: Promise<RunTurns>;
  #table: EventTable;

  /** @param taking run that is being taken. Its refusal ends the stream */
  constructor(backend: Backend, request: RunRequest, taking: Promise<RunTurns>) {
    this.#backend = backend;
    this.#request = request;
    this.#taking = taking;
    this.#table = this.#openTable(request.runId, request.messages);
  }

  async *write(left: AbortSignal): AsyncGenerator<string> {
    const { threadId, runId, messages, isRepeated, state } = this.#request;
    yield this.#write([{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }]);
    // A reader that connects later gets the state with the events.
    if (state !== undefined) yield this.#write([{ type: 'STATE_SNAPSHOT', snapshot: state }]);
    if (isRepeated) yield this.#write([{ type: 'MESSAGES_SNAPSHOT', messages }]);
    const { answered, hasOwn } = await this.#taking;
    if (answered !== undefined) {
      this.#table = this.#openTable(answered.turn, messages, answered.calls);
      yield* this.#follow(answered.turn, left, hasOwn);
      if (this.#table.isDone) return;
    }
    this.#table = this.#openTable(runId, this.#table.messages);
    yield* this.#follow(runId, left, false);
  }

  /** Writes the last event of a run that failed. */
  fail(code: string, message: string): string {
    return this.#write(this.#table.fail(code, message));
  }

  /** True once the run has its last event. */
  get isDone(): boolean {
    return this.#table.isDone;
  }

  #write(events: readonly AgUiEvent[]): string {
    return events.map((event) => writeData(convertToForm(event, this.#request.form))).join('');
  }

  #openTable(turn: string, messages: readonly AgUiMessage[], answered?: ReadonlySet<string>): EventTable {
    const { threadId, runId } = this.#request;
    return new EventTable({ threadId, runId, turn, messages, ...(answered && { answered }) });
  }

  /** @param hasOwn true if the run has a turn of its own, which may follow this one */
  async *#follow(turn: string, left: AbortSignal, hasOwn: boolean): AsyncGenerator<string> {
    const { client, nameOf } = this.#backend;
    for await (const part of client.stream(nameOf(this.#request.threadId), turn, { signal: left })) {
      if (part.type === 'wait' && (await this.#answerFromMessages(turn, part.waiting))) continue;
      if (part.type === 'end' && hasOwn && (await this.#isNext(turn))) {
        yield this.#write(this.#table.leave(part.view));
        return;
      }
      yield this.#write(this.#table.add(part));
      if (this.#table.isDone) return;
    }
  }

  /** A front-end may send results with approvals, although the turn waits for the results only afterwards. */
  async #answerFromMessages(turn: string, waiting: Waiting): Promise<boolean> {
    const { threadId, runId, messages } = this.#request;
    const answers = waiting.for === 'tools' ? readAllResults(messages, waiting.calls) : undefined;
    if (answers === undefined) return false;
    await this.#backend.client.answer(this.#backend.nameOf(threadId), turn, answers, { request: runId });
    return true;
  }

  /** True if the ended turn did not take the message of this run, so that the turn of this run comes next. */
  async #isNext(turn: string): Promise<boolean> {
    const { client, nameOf } = this.#backend;
    const { threadId, runId } = this.#request;
    return (await client.result(nameOf(threadId), runId)).steeredInto !== turn;
  }
}
