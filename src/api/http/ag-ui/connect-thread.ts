import { z } from 'zod';
import { idSchema } from '../../../domain/ids.ts';
import { parseInput } from '../../../domain/parse.ts';
import type { LogEntry } from '../../client/index.ts';
import type { ProtocolRoute } from '../app-options.ts';
import { EVENT_STREAM } from '../event-stream.ts';
import type { Backend } from '../front-end/backend.ts';
import { readOpenTurns } from '../front-end/reads.ts';
import { writeData } from '../front-end/server-facts.ts';
import { convertToForm, type EventForm, readEventForm } from './event-form.ts';
import { agUiEventSchema } from './event-schema.ts';
import { type AgUiEvent, type AgUiMessage, EventTable } from './events.ts';
import { readThread, writeMessage } from './thread-messages.ts';

const connectSchema = z
  .looseObject({
    threadId: idSchema,
    runId: idSchema.describe('Id of the run that the events name.'),
    protocolVersion: z.string().optional().describe('Version of the client, as in a run.'),
  })
  .meta({ id: 'ConnectThread', examples: [{ threadId: 'support-42', runId: 'r7' }] });

/** AG-UI names no route for a front-end that was loaded again. Runners of CopilotKit have a method for it. */
export const connectThreadRoute: ProtocolRoute = {
  operation: 'connectThread',
  method: 'post',
  path: '/v1/ag-ui/connect',
  scopes: ['read'],
  summary: 'Stream the messages and the state of a thread of AG-UI, and then its open turn.',
  body: connectSchema,
  results: { [EVENT_STREAM]: agUiEventSchema },
};

interface Connecting {
  readonly threadId: string;
  readonly runId: string;
  readonly form: EventForm;
}

/** @throws invalid_input */
export function readConnecting(body: unknown): Connecting {
  const { threadId, runId, protocolVersion } = parseInput(connectSchema, body);
  return { threadId, runId, form: readEventForm(protocolVersion) };
}

/** Streams a thread as one run: its messages, then the events of its open turn. An unknown thread is empty. */
export class ThreadStream {
  readonly #backend: Backend;
  readonly #connecting: Connecting;
  #table: EventTable;

  constructor(backend: Backend, connecting: Connecting) {
    this.#backend = backend;
    this.#connecting = connecting;
    this.#table = this.#openTable(connecting.runId, []);
  }

  async *write(left: AbortSignal): AsyncGenerator<string> {
    const { threadId, runId } = this.#connecting;
    const { client, nameOf } = this.#backend;
    yield this.#write([{ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' }]);
    const open = (await readOpenTurns(this.#backend, threadId, { limit: 1 }))?.turns[0]?.turn;
    const shown = await readThread(this.#backend, threadId);
    // The events of the open turn bring its messages.
    const messages = shown.flatMap((entry) => {
      return entry.turn === open && entry.message.role !== 'user' ? [] : writeMessage(entry);
    });
    const state = findState(shown);
    if (state !== undefined) yield this.#write([{ type: 'STATE_SNAPSHOT', snapshot: state }]);
    yield this.#write([{ type: 'MESSAGES_SNAPSHOT', messages }]);
    if (open === undefined) {
      yield this.#write([{ type: 'RUN_FINISHED', threadId, runId, outcome: { type: 'success' } }]);
      return;
    }
    this.#table = this.#openTable(open, messages);
    for await (const part of client.stream(nameOf(threadId), open, { signal: left })) {
      yield this.#write(this.#table.add(part));
      if (this.#table.isDone) return;
    }
  }

  /** Writes the last event of a stream that failed. */
  fail(code: string, message: string): string {
    return this.#write(this.#table.fail(code, message));
  }

  #write(events: readonly AgUiEvent[]): string {
    return events.map((event) => writeData(convertToForm(event, this.#connecting.form))).join('');
  }

  #openTable(turn: string, messages: readonly AgUiMessage[]): EventTable {
    const { threadId, runId } = this.#connecting;
    return new EventTable({ threadId, runId, turn, messages });
  }
}

/** The last state that a tool gave. */
function findState(log: readonly LogEntry[]): unknown {
  const values = log.flatMap(({ message }) => message.data ?? []);
  return values.findLast(({ name }) => name === 'state')?.data;
}
