import type { LogEntry } from '../../../domain/message.ts';
import { findRolledBack } from '../../../domain/rolled-back.ts';
import type { SeqRange } from '../../../domain/version.ts';
import type { OpenTurns } from '../../client/index.ts';
import type { Backend } from '../front-end/backend.ts';
import { readJsonOrText } from '../front-end/call-names.ts';
import { openLog, readIfAny } from '../front-end/reads.ts';
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

/**
 * Reads the messages for a page that opens a chat, without regenerated answers. The answer of an open turn is left out,
 * because its stream has it. A conversation that does not exist has no messages.
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
  // The end of the log is read between two reads of the open turns. So a turn with an incomplete answer before this end
  // is in one of the two.
  const before = await client.openTurns(name, { limit: 1_000, inputs: true });
  const [{ head }, versions] = await Promise.all([client.describe(name), client.versions(name)]);
  const after = await client.openTurns(name, { limit: 1_000 });
  return listMessages({
    log: await openLog(client, name, head),
    dropped: findRolledBack(versions),
    open: new Set([...before.turns, ...after.turns].map(({ turn }) => turn)),
    queued: before.turns,
  });
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

/** Adds an entry to the last message, or starts a message. All model steps of a turn are one answer. */
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
