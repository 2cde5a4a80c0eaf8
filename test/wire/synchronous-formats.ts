import { runToEnd } from '../../src/domain/interruptible.ts';
import type { AnthropicBody } from '../../src/wire/anthropic/body.ts';
import { type AnthropicOptions, renderAnthropicInSlices } from '../../src/wire/anthropic/render.ts';
import { validateAnthropicInSlices } from '../../src/wire/anthropic/rules.ts';
import type { ChatBody } from '../../src/wire/openai-chat/body.ts';
import { type ChatOptions, renderChatInSlices } from '../../src/wire/openai-chat/render.ts';
import { validateChatInSlices } from '../../src/wire/openai-chat/rules.ts';
import type { ResponsesBody } from '../../src/wire/openai-responses/body.ts';
import { type ResponsesOptions, renderResponsesInSlices } from '../../src/wire/openai-responses/render.ts';
import { validateResponsesInSlices } from '../../src/wire/openai-responses/rules.ts';
import type { RuleContext } from '../../src/wire/rules/rule.ts';
import type { Rendered, Violation, WireRequest } from '../../src/wire/wire-request.ts';

/** The renderers and validators without pauses for the event loop. */
export function renderAnthropic(request: WireRequest, options?: AnthropicOptions): Rendered<AnthropicBody> {
  return runToEnd(renderAnthropicInSlices(request, options));
}

export function renderChat(request: WireRequest, options?: ChatOptions): Rendered<ChatBody> {
  return runToEnd(renderChatInSlices(request, options));
}

export function renderResponses(request: WireRequest, options?: ResponsesOptions): Rendered<ResponsesBody> {
  return runToEnd(renderResponsesInSlices(request, options));
}

export function validateAnthropic(body: unknown, context?: RuleContext): Violation[] {
  return runToEnd(validateAnthropicInSlices(body, context));
}

export function validateChat(body: unknown, context?: RuleContext): Violation[] {
  return runToEnd(validateChatInSlices(body, context));
}

export function validateResponses(body: unknown, context?: RuleContext): Violation[] {
  return runToEnd(validateResponsesInSlices(body, context));
}
