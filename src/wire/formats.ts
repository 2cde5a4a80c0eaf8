import type { WireFormat } from '../domain/raw-items.ts';
import { readAnthropic } from './anthropic/read.ts';
import { renderAnthropic } from './anthropic/render.ts';
import { validateAnthropic } from './anthropic/rules.ts';
import { readChat } from './openai-chat/read.ts';
import { renderChat } from './openai-chat/render.ts';
import { validateChat } from './openai-chat/rules.ts';
import { readResponses } from './openai-responses/read.ts';
import { renderResponses } from './openai-responses/render.ts';
import { validateResponses } from './openai-responses/rules.ts';
import type { RuleContext } from './rules/rule.ts';
import type { Marks, Rendered, Violation, WireMessages, WireRequest } from './wire-request.ts';

/** What can be done with a format without knowing which one it is. Options of a provider's own are its adapter's to give. */
export interface WireFormatTools {
  /** @throws orphan_result, duplicate_call where the messages are no history */
  readonly render: (request: WireRequest) => Rendered<unknown>;
  /** @param body as `render` made it, or another's of the same form */
  readonly read: (body: unknown, marks?: Marks) => WireMessages;
  /** Takes a body of any shape, and never throws: what is no request breaks rules too. */
  readonly validate: (body: unknown, context?: RuleContext) => Violation[];
}

export const wireFormats: Readonly<Record<WireFormat, WireFormatTools>> = {
  anthropic: { render: (request) => renderAnthropic(request), read: readAnthropic, validate: validateAnthropic },
  'openai-chat': { render: (request) => renderChat(request), read: readChat, validate: validateChat },
  'openai-responses': {
    render: (request) => renderResponses(request),
    read: readResponses,
    validate: validateResponses,
  },
};
