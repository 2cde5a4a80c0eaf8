import type { Message } from '../../domain/message.ts';
import type { ToolDescription } from '../../domain/model.ts';
import { mapInSlices, runToEnd, type Sliced } from '../../domain/sliced.ts';
import { type ArrangedSystem, arrangeInSlices } from '../arrange.ts';
import type { Origin, Rendered, WireRequest } from '../wire-request.ts';
import type { ChatBody, ChatTextPart, ChatTool } from './body.ts';
import { type LaidMessage, layMessages, plainText } from './messages.ts';
import { alternateRoles } from './strict.ts';
import { keepReasoningInLoop } from './tool-loop.ts';

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
export function renderChat(request: WireRequest, options: ChatOptions = {}): Rendered<ChatBody> {
  return runToEnd(renderChatInSlices(request, options));
}

/** The same, in slices. */
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
  const whole = [...altered, ...dropped].map((origin): [Origin, Message] => [
    origin,
    request.messages[origin] as Message,
  ]);
  return {
    body: {
      model: request.model,
      messages: laid.map(({ message }) => message),
      ...(arranged.tools.length === 0 ? {} : { tools: arranged.tools.map(writeTool) }),
      [outputCapField]: request.maxOutputTokens,
    },
    marks: {
      ...arranged.marks,
      replaced: new Map([...arranged.marks.replaced, ...whole]),
      raw: withRaw.difference(dropped),
      origins,
    },
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
