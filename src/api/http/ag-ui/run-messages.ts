import { z } from 'zod';
import { isTurnfoldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { WaitingCall } from '../../../domain/turn.ts';
import type { CallAnswer } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import { checkShownCall, readJsonOrText, undecided } from '../front-end/call-names.ts';
import type { AgUiMessage } from './events.ts';
import { turnOf } from './message-names.ts';
import { readMessageText } from './run-input.ts';

interface Results {
  readonly caller: string;
  readonly calls: readonly string[];
}

export function findResults(messages: readonly AgUiMessage[]): Results | undefined {
  if (messages.at(-1)?.role !== 'tool') return undefined;
  const first = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  const caller = messages.findLast((message) => message.role === 'assistant' && Array.isArray(message['toolCalls']));
  return { caller: caller?.id ?? '', calls: messages.slice(first).map(({ toolCallId }) => String(toolCallId)) };
}

/**
 * Finds the results whose answer the front-end does not have: its tool messages behind the last message of an agent.
 */
export function findShownResults(
  messages: readonly AgUiMessage[],
): { readonly turn: string; readonly calls: ReadonlySet<string> } | undefined {
  const at = messages.findLastIndex(({ role }) => role !== 'user' && role !== 'tool');
  const turn = idSchema.safeParse(turnOf(messages[at]?.id ?? '')).data;
  const results = messages.slice(at + 1).filter(({ role }) => role === 'tool');
  if (turn === undefined || results.length === 0) return undefined;
  return { turn, calls: new Set(results.map(({ toolCallId }) => String(toolCallId))) };
}

export function readToolMessage(messages: readonly AgUiMessage[], call: string): CallAnswer | undefined {
  const index = messages.findLastIndex(({ role, toolCallId }) => role === 'tool' && toolCallId === call);
  const message = messages[index];
  if (message === undefined) return undefined;
  const isError = typeof message['error'] === 'string';
  return { content: readMessageText(message, index), ...(isError && { isError }) };
}

/** Returns the results of all open calls. Undefined if the messages lack one of these results. */
export function readAllResults(
  messages: readonly AgUiMessage[],
  calls: readonly WaitingCall[],
): Record<string, CallAnswer> | undefined {
  const open = undecided(calls);
  const answers: Record<string, CallAnswer> = {};
  for (const call of open) {
    const answer = readToolMessage(messages, call.id);
    if (answer === undefined) return undefined;
    answers[call.id] = nameResult(messages, call, answer);
  }
  return open.length === 0 ? undefined : answers;
}

const shownCallSchema = z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) });

/**
 * Adds the hash of the call to a result. A tool message has only the id of its call. The message that made the call
 * shows which call the front-end means.
 */
export function nameResult(messages: readonly AgUiMessage[], call: WaitingCall, answer: CallAnswer): CallAnswer {
  const made = messages.flatMap(({ toolCalls }) => (Array.isArray(toolCalls) ? (toolCalls as unknown[]) : []));
  const shown = made.map((one) => shownCallSchema.safeParse(one).data).findLast((one) => one?.id === call.id);
  if (shown === undefined) return answer;
  const { name, arguments: written } = shown.function;
  return { ...answer, hash: checkShownCall(call, { name, input: readJsonOrText(written) }, 'messages') };
}

interface UserTexts {
  /** Texts of the user behind the first message of a turn, oldest first. */
  readonly texts: readonly string[];
  /** Index of the first text behind the last answer. Earlier texts are not new. */
  readonly firstNew: number;
  /** True if the front-end has messages of the turn, so that the texts are younger than its input. */
  readonly isBehindTurn: boolean;
}

/**
 * Reads the user's texts behind the first message of a turn. If the front-end has no message of the turn, reads those
 * behind the last answer.
 */
export function readThreadTexts(messages: readonly AgUiMessage[], turn?: string): UserTexts {
  const isOfTurn = ({ id }: AgUiMessage): boolean => turn !== undefined && turnOf(id) === turn;
  const start = messages.findIndex(isOfTurn);
  const answer = messages.findLastIndex((one) => isOfTurn(one) || (one.role !== 'user' && one.role !== 'tool'));
  const texts = messages.flatMap((message, index) => {
    if (message.role !== 'user' || index <= (start === -1 ? answer : start)) return [];
    const text = readUserText(messages, index);
    return text === '' ? [] : [{ text, index }];
  });
  const before = texts.filter(({ index }) => index < answer);
  return { texts: texts.map(({ text }) => text), firstNew: before.length, isBehindTurn: start !== -1 };
}

/**
 * Returns the text of a user message. An invalid earlier message counts as empty: its own run was refused, and it must
 * not block the next run.
 */
function readUserText(messages: readonly AgUiMessage[], index: number): string {
  const message = messages[index] as AgUiMessage;
  const isLast = messages.findLastIndex(({ role }) => role === 'user') === index;
  try {
    const text = readMessageText(message, index);
    if (!isLast) checkMessageBytes({ role: 'user', content: text }, 'messages');
    return text;
  } catch (error) {
    if (isLast || !isTurnfoldError(error)) throw error;
    return '';
  }
}
