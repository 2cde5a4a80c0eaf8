import type { Interruptible } from '../../domain/interruptible.ts';
import type { ToolDescription } from '../../domain/model.ts';
import type { ProviderHabits } from '../../domain/provider-habits.ts';
import { type ArrangedSystem, arrangeInSlices } from '../arrange.ts';
import { NO_ORIGIN, type Rendered, type WireRequest } from '../wire-request.ts';
import type { ChatBody, ChatMessage, ChatTextPart, ChatTool, ChatUserMessage } from './body.ts';
import { type LaidMessage, layMessages, plainText } from './layout.ts';
import { keepReasoning } from './reasoning.ts';

export interface ServerOptions extends ProviderHabits {
  /** Role of system messages: `developer` for OpenAI's reasoning models. Default `system`, which every server accepts. */
  readonly systemRole?: 'system' | 'developer';
  /** True if the chat template of the server requires user and assistant messages to alternate. Default false. */
  readonly isStrict?: boolean;
}

export interface ChatOptions extends ServerOptions {
  readonly outputCapField?: 'max_completion_tokens' | 'max_tokens';
}

export function* renderChatInSlices(
  request: WireRequest,
  options: ChatOptions = {},
): Interruptible<Rendered<ChatBody>> {
  const { systemRole = 'system', isStrict = false, outputCapField = 'max_completion_tokens' } = options;
  const { callIds, takesLaterSystem = !isStrict } = options;
  const arranged = yield* arrangeInSlices(request, 'openai-chat', { callIds, takesLaterSystem });
  const messages = yield* layMessages(arranged.items, systemRole);
  const alternated = isStrict ? alternateRoles(messages) : messages;
  yield;
  const laid = [...writeSystem(arranged.system, systemRole), ...keepReasoning(alternated, options)];
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

/** Joins system texts to one message: strict chat templates refuse a second system message (wire rule C5). */
function writeSystem(system: readonly ArrangedSystem[], role: 'system' | 'developer'): LaidMessage[] {
  if (system.length === 0) return [];
  const parts = system.map(({ text }): ChatTextPart => ({ type: 'text', text }));
  const origins = system.map(({ origin }) => origin);
  return [{ message: { role, content: plainText(parts) ?? parts }, origins }];
}

/** Servers refuse a schema without `properties`, even for a tool without parameters. */
function writeTool({ name, description, parameters }: ToolDescription): ChatTool {
  const schema = { properties: {}, ...parameters, type: 'object' };
  return { type: 'function', function: { name, description, parameters: schema } };
}

const BETWEEN_ANSWERS = '(go on)';
const BEHIND_RESULTS = '(the results are noted)';

/** Wire rule C5, for a strict chat template. Tool calls and their results need not alternate. */
function alternateRoles(messages: readonly LaidMessage[]): LaidMessage[] {
  const laid: LaidMessage[] = [];
  let openCalls = 0;
  for (const next of messages) {
    const last = laid.at(-1);
    if (next.message.role === 'user' && last?.message.role === 'user') {
      laid[laid.length - 1] = mergeUsers(last, last.message, next, next.message);
      continue;
    }
    // No placeholder follows results while calls are open, because it would separate calls from results (wire rule C1).
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
