import type { WireFormat } from '../domain/raw-items.ts';
import { runToEnd, type Sliced } from '../domain/sliced.ts';
import { type AnthropicOptions, renderAnthropicInSlices } from './anthropic/render.ts';
import { validateAnthropicInSlices } from './anthropic/rules.ts';
import { type ChatOptions, renderChatInSlices } from './openai-chat/render.ts';
import { validateChatInSlices } from './openai-chat/rules.ts';
import { type ResponsesOptions, renderResponsesInSlices } from './openai-responses/render.ts';
import { validateResponsesInSlices } from './openai-responses/rules.ts';
import type { RuleContext } from './rules/rule.ts';
import type { Rendered, Violation, WireRequest } from './wire-request.ts';

interface FormatFunctions {
  readonly render: (request: WireRequest, options?: object) => Sliced<Rendered<unknown>>;
  readonly validate: (body: unknown, context?: RuleContext, options?: object) => Sliced<Violation[]>;
}

export interface WireFormatTools {
  /**
   * @param options options of the format, from the model's profile
   * @throws orphan_result or duplicate_call if the messages are not a valid history
   */
  readonly render: (request: WireRequest, options?: object) => Rendered<unknown>;
  readonly renderInSlices: FormatFunctions['render'];
  /**
   * Takes a body of any shape and never throws. A value that is not a request breaks rules too.
   * @param options options that the body was rendered with
   */
  readonly validate: (body: unknown, context?: RuleContext, options?: object) => Violation[];
  readonly validateInSlices: FormatFunctions['validate'];
}

export const wireFormats: Readonly<Record<WireFormat, WireFormatTools>> = {
  anthropic: formatTools({
    render: (request, options?: AnthropicOptions) => renderAnthropicInSlices(request, options),
    validate: (body, context) => validateAnthropicInSlices(body, context),
  }),
  'openai-chat': formatTools({
    render: (request, options?: ChatOptions) => renderChatInSlices(request, options),
    validate: (body, context, options: ChatOptions = {}) =>
      validateChatInSlices(body, options.isStrict === true ? { ...context, hasStrictTemplate: true } : context),
  }),
  'openai-responses': formatTools({
    render: (request, options?: ResponsesOptions) => renderResponsesInSlices(request, options),
    validate: (body, context) => validateResponsesInSlices(body, context),
  }),
};

function formatTools({ render, validate }: FormatFunctions): WireFormatTools {
  return {
    render: (request, options) => runToEnd(render(request, options)),
    renderInSlices: render,
    validate: (body, context, options) => runToEnd(validate(body, context, options)),
    validateInSlices: validate,
  };
}
