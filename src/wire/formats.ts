import type { WireFormat } from '../domain/raw-items.ts';
import { readAnthropic } from './anthropic/read.ts';
import { type AnthropicOptions, renderAnthropic } from './anthropic/render.ts';
import { validateAnthropic } from './anthropic/rules.ts';
import { readChat } from './openai-chat/read.ts';
import { type ChatOptions, renderChat } from './openai-chat/render.ts';
import { validateChat } from './openai-chat/rules.ts';
import { readResponses } from './openai-responses/read.ts';
import { type ResponsesOptions, renderResponses } from './openai-responses/render.ts';
import { validateResponses } from './openai-responses/rules.ts';
import type { RuleContext } from './rules/rule.ts';
import type { Marks, Rendered, Violation, WireMessages, WireRequest } from './wire-request.ts';

/** What can be done with a format without knowing which one it is. */
export interface WireFormatTools {
  /**
   * @param options the format's own, as the model's adapter put them in its profile
   * @throws orphan_result, duplicate_call where the messages are no history
   */
  readonly render: (request: WireRequest, options?: object) => Rendered<unknown>;
  /** @param body as `render` made it, or another's of the same form */
  readonly read: (body: unknown, marks?: Marks) => WireMessages;
  /**
   * Takes a body of any shape, and never throws: what is no request breaks rules too.
   * @param options the ones that it was rendered with
   */
  readonly validate: (body: unknown, context?: RuleContext, options?: object) => Violation[];
}

export const wireFormats: Readonly<Record<WireFormat, WireFormatTools>> = {
  anthropic: {
    render: (request, options?: AnthropicOptions) => renderAnthropic(request, options),
    read: readAnthropic,
    validate: (body, context) => validateAnthropic(body, context),
  },
  'openai-chat': {
    render: (request, options?: ChatOptions) => renderChat(request, options),
    read: readChat,
    validate: (body, context, options: ChatOptions = {}) =>
      validateChat(body, options.isStrict === true ? { ...context, hasStrictTemplate: true } : context),
  },
  'openai-responses': {
    render: (request, options?: ResponsesOptions) => renderResponses(request, options),
    read: readResponses,
    validate: (body, context) => validateResponses(body, context),
  },
};
