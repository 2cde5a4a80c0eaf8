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

/** Finds the tool messages behind the last message of an agent, so that the front-end lacks the answer to them. */
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

/** Returns results of all open calls, or undefined if one is missing. */
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

/** A tool message has only the id of its call. The message that made the call shows which call the front-end means. */
export function nameResult(messages: readonly AgUiMessage[], call: WaitingCall, answer: CallAnswer): CallAnswer {
  const made = messages.flatMap(({ toolCalls }) => (Array.isArray(toolCalls) ? (toolCalls as unknown[]) : []));
  const shown = made.map((one) => shownCallSchema.safeParse(one).data).findLast((one) => one?.id === call.id);
  if (shown === undefined) return answer;
  const { name, arguments: written } = shown.function;
  return { ...answer, hash: checkShownCall(call, { name, input: readJsonOrText(written) }, 'messages') };
}

interface UserTexts {
  /** Oldest first. */
  readonly texts: readonly string[];
  /** Index of the first text behind the last answer. Earlier texts are not new. */
  readonly firstNew: number;
  /** True if the front-end has messages of the turn, so that the texts are newer than the turn's input. */
  readonly isBehindTurn: boolean;
}

/** Reads the user's texts behind the first message of a turn, or else those behind the last answer. */
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

/** An invalid message before the last one counts as empty, because its own run was refused. */
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
