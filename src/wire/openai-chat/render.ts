import type { ToolDescription } from '../../domain/model.ts';
import type { Sliced } from '../../domain/sliced.ts';
import { type ArrangedSystem, arrangeInSlices } from '../arrange.ts';
import { NO_ORIGIN, type Rendered, type WireRequest } from '../wire-request.ts';
import type { ChatBody, ChatMessage, ChatTextPart, ChatTool, ChatUserMessage } from './body.ts';
import { dropReasoning, type LaidMessage, layMessages, plainText } from './layout.ts';

export interface ChatOptions {
  /**
   * Role of the system prompt. OpenAI's reasoning models call it `developer`. Default `system`, which every server
   * knows.
   */
  readonly systemRole?: 'system' | 'developer';
  /** True if the server's chat template requires alternating user and assistant messages. Default false. */
  readonly isStrict?: boolean;
  /** Name of the output cap on this server. Default `max_completion_tokens`. */
  readonly outputCapField?: 'max_completion_tokens' | 'max_tokens';
}

/**
 * Renders a Chat Completions request by rules C1–C7.
 * @throws orphan_result or duplicate_call if the messages are not a valid history
 */
export function* renderChatInSlices(request: WireRequest, options: ChatOptions = {}): Sliced<Rendered<ChatBody>> {
  const { systemRole = 'system', isStrict = false, outputCapField = 'max_completion_tokens' } = options;
  const arranged = yield* arrangeInSlices(request, 'openai-chat');
  const messages = yield* layMessages(arranged.items);
  const alternated = isStrict ? alternateRoles(messages) : messages;
  yield;
  const laid = [...writeSystem(arranged.system, systemRole), ...keepReasoningInLoop(alternated)];
  yield;
  return {
    format: 'openai-chat',
    body: {
      model: request.model,
      messages: laid.map(({ message }) => message),
      ...(arranged.tools.length === 0 ? {} : { tools: arranged.tools.map(writeTool) }),
      [outputCapField]: request.maxOutputTokens,
    },
    origins: laid.map(({ origins }) => origins),
    prefix: arranged.prefix,
  };
}

/** Joins all system texts into one message, because strict templates refuse a second system message (C5). */
function writeSystem(system: readonly ArrangedSystem[], role: 'system' | 'developer'): LaidMessage[] {
  if (system.length === 0) return [];
  const parts = system.map(({ text }): ChatTextPart => ({ type: 'text', text }));
  const origins = system.map(({ origin }) => origin);
  return [{ message: { role, content: plainText(parts) ?? parts }, origins }];
}

/** Adds `properties` to the schema: servers refuse a schema without them, even for a tool without parameters. */
function writeTool({ name, description, parameters }: ToolDescription): ChatTool {
  const schema = { properties: {}, ...parameters, type: 'object' };
  return { type: 'function', function: { name, description, parameters: schema } };
}

const BETWEEN_ANSWERS = '(go on)';
const BEHIND_RESULTS = '(the results are noted)';

/**
 * C5: alternates user and assistant for servers with strict templates. Adjacent user messages are merged, and
 * placeholders fill missing roles. Calls and results are not counted.
 */
function alternateRoles(messages: readonly LaidMessage[]): LaidMessage[] {
  const laid: LaidMessage[] = [];
  let openCalls = 0;
  for (const next of messages) {
    const last = laid.at(-1);
    if (next.message.role === 'user' && last?.message.role === 'user') {
      laid[laid.length - 1] = mergeUsers(last, last.message, next, next.message);
      continue;
    }
    // No placeholder answer follows an open round, because an answer would leave calls without results (C1).
    if (next.message.role === 'user' && last?.message.role === 'tool' && openCalls === 0) {
      laid.push(placeholder({ role: 'assistant', content: BEHIND_RESULTS }));
    }
    if (next.message.role === 'assistant' && last?.message.role === 'assistant') {
      laid.push(placeholder({ role: 'user', content: BETWEEN_ANSWERS }));
    }
    if (next.message.role === 'assistant') openCalls = next.message.tool_calls?.length ?? 0;
    if (next.message.role === 'tool') openCalls -= 1;
    laid.push(next);
  }
  return laid;
}

function placeholder(message: ChatMessage): LaidMessage {
  return { message, origins: [NO_ORIGIN] };
}

function mergeUsers(
  first: LaidMessage,
  { content: before }: ChatUserMessage,
  second: LaidMessage,
  { content: after }: ChatUserMessage,
): LaidMessage {
  return {
    message: { role: 'user', content: [...partsOf(before), ...partsOf(after)] },
    origins: [...first.origins, ...second.origins],
  };
}

function partsOf(content: ChatUserMessage['content']): Exclude<ChatUserMessage['content'], string> {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

/**
 * C7: reasoning of an open model goes back only inside its tool loop. The loop starts at the last user message. A user
 * message that shows pictures of results does not start a loop.
 */
function keepReasoningInLoop(laid: readonly LaidMessage[]): LaidMessage[] {
  const start = laid.findLastIndex(
    ({ message, isOfResults }, index) =>
      message.role === 'user' && !(isOfResults === true && laid[index - 1]?.message.role === 'tool'),
  );
  return laid.map((given, index) =>
    index > start || given.message.role !== 'assistant' ? given : { ...given, message: dropReasoning(given.message) },
  );
}
