import { z } from 'zod';
import { isTurnfoldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { WaitingCall } from '../../../domain/turn.ts';
import type { CallAnswer, InputPart } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import { checkShownCall, readJsonOrText, undecided } from '../front-end/call-names.ts';
import type { AgUiMessage } from './events.ts';
import { readMessageFiles, readMessageText } from './message-content.ts';
import { turnOf } from './message-names.ts';

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

type ShownCall = z.output<typeof shownCallSchema>;

/** Calls of an assistant message. An invalid one is left out. */
export function readMadeCalls({ toolCalls }: AgUiMessage): ShownCall[] {
  const made = Array.isArray(toolCalls) ? (toolCalls as unknown[]) : [];
  return made.flatMap((one) => shownCallSchema.safeParse(one).data ?? []);
}

/** A tool message has only the id of its call. The message that made the call shows which call the front-end means. */
export function nameResult(messages: readonly AgUiMessage[], call: WaitingCall, answer: CallAnswer): CallAnswer {
  const shown = messages.flatMap(readMadeCalls).findLast(({ id }) => id === call.id);
  if (shown === undefined) return answer;
  const { name, arguments: written } = shown.function;
  return { ...answer, hash: checkShownCall(call, { name, input: readJsonOrText(written) }, 'messages') };
}

/** Text of a user message with its images and files. */
export interface UserText {
  /** Id of the message. */
  readonly id: string;
  readonly text: string;
  readonly files: readonly InputPart[];
}

interface UserTexts {
  /** Oldest first. */
  readonly texts: readonly UserText[];
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
    const read = readUserText(messages, index);
    return read.text === '' ? [] : [{ ...read, id: message.id, index }];
  });
  const before = texts.filter(({ index }) => index < answer);
  return { texts, firstNew: before.length, isBehindTurn: start !== -1 };
}

/** An invalid message before the last one counts as empty, because its own run was refused. */
function readUserText(messages: readonly AgUiMessage[], index: number): Omit<UserText, 'id'> {
  const message = messages[index] as AgUiMessage;
  const isLast = messages.findLastIndex(({ role }) => role === 'user') === index;
  try {
    const text = readMessageText(message, index);
    const files = readMessageFiles(message, index);
    if (!isLast)
      checkMessageBytes({ role: 'user', content: text, ...(files.length > 0 && { parts: files }) }, 'messages');
    return { text, files };
  } catch (error) {
    if (isLast || !isTurnfoldError(error)) throw error;
    return { text: '', files: [] };
  }
}
