import type { LogEntry } from '../../../domain/message.ts';
import { findRolledBack } from '../../../domain/rolled-back.ts';
import type { SeqRange } from '../../../domain/version.ts';
import type { OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readJsonOrText } from '../front-end/call-names.ts';
import { readIfAny } from '../front-end/reads.ts';
import { STOPPED } from './chunks.ts';
import { splitTurnName } from './turn-names.ts';

export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  /** Present if the turn was canceled while the model wrote the last part. */
  metadata?: typeof STOPPED;
  readonly parts: UiPart[];
}

type UiPart = { readonly type: string } & Record<string, unknown>;

const BATCH = { maxBytes: 1_000_000, limit: 500 };

/**
 * Reads the log for a page that opens a chat, without regenerated messages. Messages of turns that wait for a worker
 * come behind it. The answer of an open turn is left out, because its stream has it.
 * @returns no messages for a conversation that does not exist
 */
export async function openChatHistory(
  backend: Pick<Backend, 'client' | 'nameOf'>,
  id: string,
): Promise<AsyncIterable<UiMessage> | Iterable<UiMessage>> {
  return (await readIfAny(openKnownHistory(backend, id))) ?? [];
}

async function openKnownHistory(
  { client, nameOf }: Pick<Backend, 'client' | 'nameOf'>,
  id: string,
): Promise<AsyncIterable<UiMessage>> {
  const name = nameOf(id);
  // The log is read up to its end between two reads of the open turns. So a turn with a part of its answer before this
  // end is in one of the two reads.
  const before = await client.openTurns(name, { limit: 1_000, inputs: true });
  const [{ head }, versions] = await Promise.all([client.describe(name), client.versions(name)]);
  const after = await client.openTurns(name, { limit: 1_000 });
  const readBatch = async (seq: number): Promise<LogEntry[]> => await client.log(name, { after: seq, ...BATCH });
  // The first read comes before the answer starts: an unreadable log then gives a problem instead of half an answer.
  const first = await readBatch(0);
  return listMessages({
    log: readLog(first, head, readBatch),
    dropped: findRolledBack(versions),
    open: new Set([...before.turns, ...after.turns].map(({ turn }) => turn)),
    queued: before.turns,
  });
}

async function* readLog(
  first: LogEntry[],
  head: number,
  readBatch: (seq: number) => Promise<LogEntry[]>,
): AsyncGenerator<LogEntry> {
  for (let batch = first; batch.length > 0; batch = await readBatch(batch.at(-1)?.seq ?? head)) {
    yield* batch.filter(({ seq }) => seq <= head);
    if ((batch.at(-1)?.seq ?? head) >= head) return;
  }
}

interface ChatLog {
  readonly log: AsyncIterable<LogEntry>;
  readonly dropped: readonly SeqRange[];
  readonly open: ReadonlySet<string>;
  readonly queued: OpenTurns['turns'];
}

async function* listMessages({ log, dropped, open, queued }: ChatLog): AsyncGenerator<UiMessage> {
  const logged = new Set<string>();
  let last: UiMessage | undefined;
  for await (const entry of log) {
    const { seq, turn = '', message } = entry;
    logged.add(turn);
    if (dropped.some(({ from, to }) => seq >= from && seq <= to)) continue;
    if (message.role !== 'user' && open.has(turn)) continue;
    const next = addEntry(last, entry);
    if (last !== undefined && next !== last) yield last;
    last = next;
  }
  if (last !== undefined) yield last;
  for (const { turn, input } of queued) {
    if (input !== undefined && !logged.has(turn)) yield writeUserMessage(nameUserMessage(turn), input);
  }
}

function nameUserMessage(turn: string): string {
  return splitTurnName(turn)?.message ?? `${turn}.input`;
}

function writeUserMessage(id: string, text: string): UiMessage {
  return { id, role: 'user', parts: [{ type: 'text', text }] };
}

/**
 * Adds a log entry to the last message, or starts a message. A turn has one answer for all its steps. Messages without
 * a turn continue the last answer.
 */
function addEntry(last: UiMessage | undefined, { seq, turn, message }: LogEntry): UiMessage | undefined {
  const { role, content, toolCalls = [], stopped } = message;
  if (role === 'user') {
    return writeUserMessage(turn === undefined ? `log.${seq}` : nameUserMessage(turn), content);
  }
  if (role === 'tool') addResult(last, message);
  if (role !== 'assistant') return last;
  const answer: UiMessage =
    last?.role === 'assistant' ? last : { id: turn ?? `log.${seq}`, role: 'assistant', parts: [] };
  if (stopped === true) answer.metadata = STOPPED;
  answer.parts.push({ type: 'step-start' });
  if (content !== '') answer.parts.push({ type: 'text', text: content, state: 'done' });
  for (const { id: toolCallId, name: toolName, arguments: written } of toolCalls) {
    const input = readJsonOrText(written);
    answer.parts.push({ type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input });
  }
  return answer;
}

function addResult(answer: UiMessage | undefined, { toolCallId, content, isError }: LogEntry['message']): void {
  const part = answer?.parts.find((candidate) => candidate['toolCallId'] === toolCallId);
  if (part === undefined) return;
  if (isError === true) Object.assign(part, { state: 'output-error', errorText: content });
  else Object.assign(part, { state: 'output-available', output: readJsonOrText(content) });
}
