import { type Interruptible, runToEnd } from '../domain/interruptible.ts';
import type { WireFormat } from '../domain/raw-items.ts';
import { type AnthropicOptions, renderAnthropicInSlices } from './anthropic/render.ts';
import { validateAnthropicInSlices } from './anthropic/rules.ts';
import { type ChatOptions, renderChatInSlices } from './openai-chat/render.ts';
import { validateChatInSlices } from './openai-chat/rules.ts';
import { type ResponsesOptions, renderResponsesInSlices } from './openai-responses/render.ts';
import { validateResponsesInSlices } from './openai-responses/rules.ts';
import type { RuleContext } from './rules/rule.ts';
import type { Rendered, Violation, WireRequest } from './wire-request.ts';

interface FormatFunctions {
  /** @throws orphan_result or duplicate_call if the messages are not a valid history */
  readonly renderInSlices: (request: WireRequest, options?: object) => Interruptible<Rendered<unknown>>;
  /** Checks a body by the wire rules. Never throws: a value that is not a request yields violations. */
  readonly validateInSlices: (body: unknown, context?: RuleContext, options?: object) => Interruptible<Violation[]>;
}

interface WireFormatTools extends FormatFunctions {
  readonly render: (request: WireRequest, options?: object) => Rendered<unknown>;
  readonly validate: (body: unknown, context?: RuleContext, options?: object) => Violation[];
}

export const wireFormats: Readonly<Record<WireFormat, WireFormatTools>> = {
  anthropic: formatTools({
    renderInSlices: (request, options?: AnthropicOptions) => renderAnthropicInSlices(request, options),
    validateInSlices: (body, context, habits: AnthropicOptions = {}) =>
      validateAnthropicInSlices(body, { ...context, habits }),
  }),
  'openai-chat': formatTools({
    renderInSlices: (request, options?: ChatOptions) => renderChatInSlices(request, options),
    validateInSlices: (body, context, options: ChatOptions = {}) =>
      validateChatInSlices(body, { ...context, habits: options, hasStrictTemplate: options.isStrict === true }),
  }),
  'openai-responses': formatTools({
    renderInSlices: (request, options?: ResponsesOptions) => renderResponsesInSlices(request, options),
    validateInSlices: validateResponsesInSlices,
  }),
};

function formatTools(functions: FormatFunctions): WireFormatTools {
  return {
    ...functions,
    render: (request, options) => runToEnd(functions.renderInSlices(request, options)),
    validate: (body, context, options) => runToEnd(functions.validateInSlices(body, context, options)),
  };
}
