import { z } from 'zod';
import type { CallAnswer } from '../../client/index.ts';
import type { WaitingCall } from '../../domain/turn.ts';
import { checkShownCall, readJson } from '../front-end/call-names.ts';
import type { AgUiMessage } from './events.ts';
import { turnOf } from './message-names.ts';
import { readText } from './run-input.ts';

/** The results that a run brings, for the turn that made their calls. */
export interface Results {
  readonly caller: string;
  /** Ids of the calls, in the order of their tool messages. */
  readonly calls: readonly string[];
}

/** Finds the tool messages behind the last message with calls, if the messages end with one. */
export function findResults(messages: readonly AgUiMessage[]): Results | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined;
  const first = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  const caller = messages.findLast((message) => message.role === 'assistant' && Array.isArray(message['toolCalls']));
  return { caller: caller?.id ?? '', calls: messages.slice(first).map(({ toolCallId }) => String(toolCallId)) };
}

/** Reads the result of a call, wherever its tool message stands. */
export function readResult(messages: readonly AgUiMessage[], call: string): CallAnswer | undefined {
  const index = messages.findLastIndex(({ role, toolCallId }) => role === 'tool' && toolCallId === call);
  const message = messages[index];
  if (message === undefined) return undefined;
  const isError = typeof message['error'] === 'string';
  return { content: readText(message, index), ...(isError && { isError }) };
}

/** Reads the results of open calls. Undefined if the messages lack one of them. */
export function readAllResults(
  messages: readonly AgUiMessage[],
  calls: readonly WaitingCall[],
): Record<string, CallAnswer> | undefined {
  const open = calls.filter(({ decision }) => decision === undefined);
  const answers: Record<string, CallAnswer> = {};
  for (const call of open) {
    const answer = readResult(messages, call.id);
    if (answer === undefined) return undefined;
    answers[call.id] = nameResult(messages, call, answer);
  }
  return open.length === 0 ? undefined : answers;
}

const shownCallSchema = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });

/**
 * A tool message has only the id of its call. The message that made the call tells which call the front-end shows.
 * @throws conflict if the front-end shows another call
 */
export function nameResult(messages: readonly AgUiMessage[], call: WaitingCall, answer: CallAnswer): CallAnswer {
  const made = messages.flatMap(({ toolCalls }) => (Array.isArray(toolCalls) ? (toolCalls as unknown[]) : []));
  const shown = made.map((one) => shownCallSchema.safeParse(one).data).findLast((one) => one?.id === call.id);
  if (shown === undefined) return answer;
  const { name, arguments: written } = shown.function;
  return { ...answer, hash: checkShownCall(call, { name, input: readJson(written) }, 'messages') };
}

/** Texts of the user behind a place of the thread. */
export interface UserTexts {
  readonly texts: readonly string[];
  /** True if the front-end has messages of the turn, so that the texts are younger than its input. */
  readonly isBehindTurn: boolean;
}

/**
 * Reads the texts of the user behind the messages of a turn. If the front-end has none of these, or without a turn, the texts
 * are those behind the last answer.
 */
export function readUserTexts(messages: readonly AgUiMessage[], turn?: string): UserTexts {
  const ofTurn = turn === undefined ? -1 : messages.findLastIndex(({ id }) => turnOf(id) === turn);
  const last = ofTurn === -1 ? messages.findLastIndex(({ role }) => role !== 'user' && role !== 'tool') : ofTurn;
  const texts = messages.flatMap((message, index) => {
    return message.role === 'user' && index > last ? [readText(message, index)] : [];
  });
  return { texts: texts.filter((text) => text !== ''), isBehindTurn: ofTurn !== -1 };
}
