import { isTurnfoldError } from '../../domain/errors.ts';
import type { LogEntry } from '../../domain/message.ts';
import type { Backend } from '../front-end/backend.ts';
import { readJson } from '../front-end/call-names.ts';
import { omitRolledBack } from '../front-end/rolled-back.ts';
import { splitTurnName } from './chat-turns.ts';

/** A message as `useChat` takes it in `messages`. */
export interface UiMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly parts: UiPart[];
}

type UiPart = { readonly type: string } & Record<string, unknown>;

/**
 * Lists the messages of a conversation for a page that opens it: the whole log, without what was regenerated. Behind it
 * come the users' messages of turns that wait for a worker. The answer of an open turn is left out, because its stream has it.
 */
export async function listChatMessages(
  { client, nameOf }: Pick<Backend, 'client' | 'nameOf'>,
  id: string,
): Promise<UiMessage[]> {
  try {
    // First the open turns: a turn that begins between the reads then has its message in both, and not in none.
    const before = await client.openTurns(nameOf(id), { limit: 1_000, inputs: true });
    const [log, versions] = await Promise.all([client.log(nameOf(id)), client.versions(nameOf(id))]);
    // A turn may begin or end while the log is read. The log may then hold a part of its answer, or nothing.
    const after = await client.openTurns(nameOf(id), { limit: 1_000 });
    const open = new Set([...before.turns, ...after.turns].map(({ turn }) => turn));
    const kept = omitRolledBack(log, versions);
    const logged = new Set(log.map(({ turn }) => turn));
    const unclaimed = before.turns.filter(({ turn, input }) => input !== undefined && !logged.has(turn));
    return [
      ...buildMessages(kept.filter(({ turn = '', message }) => message.role === 'user' || !open.has(turn))),
      ...unclaimed.map(({ turn, input = '' }) => writeUserMessage(nameUserMessage(turn), input)),
    ];
  } catch (error) {
    if (isTurnfoldError(error, 'not_found')) return [];
    throw error;
  }
}

/** The id that the page gave the message. */
function nameUserMessage(turn: string): string {
  return splitTurnName(turn)?.message ?? `${turn}.input`;
}

function writeUserMessage(id: string, text: string): UiMessage {
  return { id, role: 'user', parts: [{ type: 'text', text }] };
}

function buildMessages(log: readonly LogEntry[]): UiMessage[] {
  const messages: UiMessage[] = [];
  for (const { seq, turn, message } of log) {
    const { role, content, toolCalls = [] } = message;
    if (role === 'user') {
      messages.push(writeUserMessage(turn === undefined ? `log.${seq}` : nameUserMessage(turn), content));
    } else if (role === 'assistant') {
      const { parts } = openAnswer(messages, turn ?? `log.${seq}`);
      parts.push({ type: 'step-start' });
      if (content !== '') parts.push({ type: 'text', text: content, state: 'done' });
      for (const { id: toolCallId, name: toolName, arguments: written } of toolCalls) {
        const input = readJson(written);
        parts.push({ type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input });
      }
    } else if (role === 'tool') {
      addResult(messages.at(-1), message);
    }
  }
  return messages;
}

/** A turn has one answer, however many steps it took. Messages that were appended without a turn continue the last one. */
function openAnswer(messages: UiMessage[], id: string): UiMessage {
  const last = messages.at(-1);
  if (last?.role === 'assistant') return last;
  const opened: UiMessage = { id, role: 'assistant', parts: [] };
  messages.push(opened);
  return opened;
}

function addResult(answer: UiMessage | undefined, { toolCallId, content, isError }: LogEntry['message']): void {
  const part = answer?.parts.find((candidate) => candidate['toolCallId'] === toolCallId);
  if (part === undefined) return;
  if (isError === true) Object.assign(part, { state: 'output-error', errorText: content });
  else Object.assign(part, { state: 'output-available', output: readJson(content) });
}
