import type { Message, ToolCall } from '../../../../src/domain/message.ts';
import { readLeaves } from '../../../../src/evaluation/quality/identifiers.ts';
import { renderMessages } from '../../../../src/evaluation/quality/searchable-text.ts';
import type { Recording } from '../corpus.ts';

/** A call of the log that has a result. */
export interface LoggedCall {
  readonly call: ToolCall;
  readonly arguments: readonly Argument[];
  /** Beginning of the argument that names the work, e.g. a command or a path. */
  readonly target: string | undefined;
  readonly result: string;
  readonly hasFailed: boolean;
}

export interface Argument {
  readonly key: string;
  readonly value: string;
}

/** The messages before a cut, and what the agent says in the messages after it. */
export interface SourceLog {
  /** Without system messages. */
  readonly messages: readonly Message[];
  readonly text: string;
  /** Calls with a result, oldest first. */
  readonly calls: readonly LoggedCall[];
  /** Messages of the agent among the next messages. */
  readonly later: string;
}

const HORIZON = 40;

export function readSourceLog({ messages: all }: Recording, cut: number): SourceLog {
  const messages = all.slice(0, cut).filter(({ role }) => role !== 'system');
  const later = all.slice(cut, cut + HORIZON).filter(({ role }) => role === 'assistant');
  return { messages, text: renderMessages(messages), calls: findCalls(messages), later: renderMessages(later) };
}

function findCalls(messages: readonly Message[]): LoggedCall[] {
  const results = new Map<string, Message>();
  for (const message of messages)
    if (message.role === 'tool' && message.toolCallId !== undefined) results.set(message.toolCallId, message);
  return messages.flatMap(({ toolCalls = [] }) =>
    toolCalls.flatMap((call) => {
      const result = results.get(call.id);
      if (result === undefined) return [];
      const found = readLeaves(call);
      const hasFailed = saysFailure(result);
      return [{ call, arguments: found, target: findTarget(found), result: result.content, hasFailed }];
    }),
  );
}

const MIN_TARGET_CHARS = 3;
const MAX_TARGET_CHARS = 40;
const NAMING_KEY = /^(?:command|cmd|file_path|path|filePath|pattern|query|url|order_id|reservation_id|user_id)$/i;

/** The argument that names the work of a call, else the longest argument. */
function findTarget(all: readonly Argument[]): string | undefined {
  const sized = all.filter(({ value }) => value.length >= MIN_TARGET_CHARS);
  const longest = sized.toSorted((one, other) => other.value.length - one.value.length)[0];
  const { value } = sized.find(({ key }) => NAMING_KEY.test(key)) ?? longest ?? {};
  const lines = value?.split('\n').map((line) => line.trim());
  const first = lines?.find(({ length }) => length >= MIN_TARGET_CHARS)?.slice(0, MAX_TARGET_CHARS);
  return first;
}

const HEAD_CHARS = 80;
const OPENS_WITH_ERROR = /^\s*(?:error|fatal|traceback|exception)\b/i;
const EXIT_CODE = /exit(?:ed)?(?: with)?(?: code)?:? ?[1-9]\d*\b/i;
const RETURN_CODE = /<returncode>[1-9]/;
const MAX_CODE_AT = 200;

/** A result fails by its flag, by how it opens, or by an exit code near its start. Errors further down may be quoted. */
function saysFailure({ isError, content }: Message): boolean {
  return (
    isError === true ||
    OPENS_WITH_ERROR.test(content) ||
    RETURN_CODE.test(content.slice(0, MAX_CODE_AT)) ||
    EXIT_CODE.test(content.slice(0, HEAD_CHARS))
  );
}
