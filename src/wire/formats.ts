import type { WireFormat } from '../domain/raw-items.ts';
import { runToEnd, type Sliced } from '../domain/sliced.ts';
import { readAnthropic } from './anthropic/read.ts';
import { type AnthropicOptions, renderAnthropicInSlices } from './anthropic/render.ts';
import { validateAnthropicInSlices } from './anthropic/rules.ts';
import { readChat } from './openai-chat/read.ts';
import { type ChatOptions, renderChatInSlices } from './openai-chat/render.ts';
import { validateChatInSlices } from './openai-chat/rules.ts';
import { readResponses } from './openai-responses/read.ts';
import { type ResponsesOptions, renderResponsesInSlices } from './openai-responses/render.ts';
import { validateResponsesInSlices } from './openai-responses/rules.ts';
import type { RuleContext } from './rules/rule.ts';
import type { Marks, Rendered, Violation, WireMessages, WireRequest } from './wire-request.ts';

/** A format's own functions. */
interface FormatFunctions {
  readonly render: (request: WireRequest, options?: object) => Sliced<Rendered<unknown>>;
  readonly read: (body: unknown, marks?: Marks) => WireMessages;
  readonly validate: (body: unknown, context?: RuleContext, options?: object) => Sliced<Violation[]>;
}

/** What can be done with a format without knowing which one it is. */
export interface WireFormatTools {
  /**
   * @param options the format's own, as the model's adapter put them in its profile
   * @throws orphan_result, duplicate_call where the messages are no history
   */
  readonly render: (request: WireRequest, options?: object) => Rendered<unknown>;
  /** the same, in slices */
  readonly renderInSlices: FormatFunctions['render'];
  /** @param body as `render` made it, or another's of the same form */
  readonly read: (body: unknown, marks?: Marks) => WireMessages;
  /**
   * Takes a body of any shape, and never throws: what is no request breaks rules too.
   * @param options the ones that it was rendered with
   */
  readonly validate: (body: unknown, context?: RuleContext, options?: object) => Violation[];
  /** the same, in slices */
  readonly validateInSlices: FormatFunctions['validate'];
}

export const wireFormats: Readonly<Record<WireFormat, WireFormatTools>> = {
  anthropic: formatTools({
    render: (request, options?: AnthropicOptions) => renderAnthropicInSlices(request, options),
    read: readAnthropic,
    validate: (body, context) => validateAnthropicInSlices(body, context),
  }),
  'openai-chat': formatTools({
    render: (request, options?: ChatOptions) => renderChatInSlices(request, options),
    read: readChat,
    validate: (body, context, options: ChatOptions = {}) =>
      validateChatInSlices(body, options.isStrict === true ? { ...context, hasStrictTemplate: true } : context),
  }),
  'openai-responses': formatTools({
    render: (request, options?: ResponsesOptions) => renderResponsesInSlices(request, options),
    read: readResponses,
    validate: (body, context) => validateResponsesInSlices(body, context),
  }),
};

function formatTools({ render, read, validate }: FormatFunctions): WireFormatTools {
  return {
    render: (request, options) => runToEnd(render(request, options)),
    renderInSlices: render,
    read,
    validate: (body, context, options) => runToEnd(validate(body, context, options)),
    validateInSlices: validate,
  };
}
