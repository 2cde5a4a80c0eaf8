import type { ToolDescription } from '../../domain/model.ts';
import { mapInSlices, type Sliced } from '../../domain/sliced.ts';
import { type ArrangedSystem, arrangeInSlices, completeMarks } from '../arrange.ts';
import { NO_ORIGIN, type Origin, type Rendered, type WireRequest } from '../wire-request.ts';
import type { ChatBody, ChatMessage, ChatTextPart, ChatTool, ChatUserMessage } from './body.ts';
import { dropReasoning, type LaidMessage, layMessages, plainText } from './layout.ts';

export interface ChatOptions {
  /** `developer` is what OpenAI's reasoning models call it (`system` by default, which every server knows) */
  readonly systemRole?: 'system' | 'developer';
  /** the server's template wants user and assistant in turns */
  readonly isStrict?: boolean;
  /** what the server calls the output cap (`max_completion_tokens` by default) */
  readonly outputCapField?: 'max_completion_tokens' | 'max_tokens';
}

/**
 * A request as Chat Completions takes it: C1–C7 of the wire rules, with the marks that undo it.
 * @throws orphan_result, duplicate_call where the messages are no history
 */
export function* renderChatInSlices(request: WireRequest, options: ChatOptions = {}): Sliced<Rendered<ChatBody>> {
  const { systemRole = 'system', isStrict = false, outputCapField = 'max_completion_tokens' } = options;
  const arranged = yield* arrangeInSlices(request, 'openai-chat');
  const { messages, withRaw, altered } = yield* layMessages(arranged.items);
  const alternated = isStrict ? alternateRoles(messages) : messages;
  yield;
  const { messages: turns, dropped } = keepReasoningInLoop(alternated);
  yield;
  const laid = [...writeSystem(arranged.system, systemRole), ...turns];
  const origins = yield* mapInSlices(laid, (one) => [...one.origins]);
  return {
    body: {
      model: request.model,
      messages: laid.map(({ message }) => message),
      ...(arranged.tools.length === 0 ? {} : { tools: arranged.tools.map(writeTool) }),
      [outputCapField]: request.maxOutputTokens,
    },
    marks: completeMarks(arranged, request, {
      altered: [...altered, ...dropped],
      raw: withRaw.difference(dropped),
      origins,
    }),
  };
}

/** One message: strict templates take no second one (C5). */
function writeSystem(system: readonly ArrangedSystem[], role: 'system' | 'developer'): LaidMessage[] {
  if (system.length === 0) return [];
  const parts = system.map(({ text }): ChatTextPart => ({ type: 'text', text }));
  const origins = system.map(({ origin }) => origin);
  return [{ message: { role, content: plainText(parts) ?? parts }, origins }];
}

/** A schema without properties is refused, even of a tool that takes none. */
function writeTool({ name, description, parameters }: ToolDescription): ChatTool {
  const schema = { properties: {}, ...parameters, type: 'object' };
  return { type: 'function', function: { name, description, parameters: schema } };
}

/** Stand where a template wants another role: between two answers, and between results and what the user said then. */
const BETWEEN_ANSWERS = '(go on)';
const BEHIND_RESULTS = '(the results are noted)';

/**
 * For servers whose templates want user and assistant in turns, calls and results aside, and no user behind a result (C5):
 * neighbouring user messages become one, placeholders stand where a role is missing.
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
    // A round that is still open stays so: no answer may stand behind it.
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

export interface LoopMessages {
  readonly messages: readonly LaidMessage[];
  /** messages that lost what their model thought */
  readonly dropped: ReadonlySet<Origin>;
}

/**
 * C7: an open model's thinking goes back inside the tool loop that it belongs to, and nowhere else. The loop is what the model
 * did since the user last spoke; pictures of results, which only a user message may show, are no word of the user's.
 */
function keepReasoningInLoop(laid: readonly LaidMessage[]): LoopMessages {
  const dropped = new Set<Origin>();
  const start = laid.findLastIndex(
    ({ message, isOfResults }, index) =>
      message.role === 'user' && !(isOfResults === true && laid[index - 1]?.message.role === 'tool'),
  );
  const messages = laid.map((given, index) => {
    if (index > start || given.message.role !== 'assistant') return given;
    const message = dropReasoning(given.message);
    if (message === given.message) return given;
    for (const origin of given.origins) dropped.add(origin);
    return { ...given, message };
  });
  return { messages, dropped };
}
