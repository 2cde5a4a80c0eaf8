import type { Message } from '../../src/domain/message.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import { readAnthropicAnswer } from '../../src/wire/anthropic/answer.ts';
import type { AnthropicOptions } from '../../src/wire/anthropic/render.ts';
import { readChatAnswer } from '../../src/wire/openai-chat/answer.ts';
import type { ChatOptions } from '../../src/wire/openai-chat/render.ts';
import { readResponsesAnswer } from '../../src/wire/openai-responses/answer.ts';
import type { AnswerParts, Rendered, WireRequest } from '../../src/wire/wire-request.ts';
import { anthropicDialect } from '../provider/anthropic/dialect.ts';
import { connectAnthropic, connectOpenAi } from '../provider/clients.ts';
import type { Dialect } from '../provider/dialect.ts';
import { chatDialect } from '../provider/openai-chat/dialect.ts';
import { responsesDialect } from '../provider/openai-responses/dialect.ts';
import type { Provider } from '../provider/provider.ts';
import type { Strictness } from '../provider/refusal.ts';
import { renderAnthropic, renderChat, renderResponses } from './synchronous-formats.ts';

/** A provider with a rendering option: how a request is rendered, sent to the test server, and recorded. */
export interface Route {
  readonly name: string;
  readonly format: WireFormat;
  readonly dialect: Dialect;
  readonly strict: Partial<Strictness>;
  /** Options with which requests are rendered. */
  readonly options: object;
  /** Code of the wire rule that a call without a result breaks. */
  readonly openRoundRule: string;
  readonly render: (request: WireRequest) => unknown;
  /** Sends the request with the provider's own SDK, and returns the answer as a turn worker records it. */
  readonly ask: (provider: Pick<Provider, 'url'>, request: WireRequest) => Promise<Message>;
}

export const ROUTES: readonly Route[] = [
  anthropicRoute('Anthropic'),
  anthropicRoute('Anthropic, thinking', { thinking: { type: 'enabled', budget_tokens: 2_048 } }),
  anthropicRoute('Anthropic, adaptive thinking', { thinking: { type: 'adaptive' } }),
  anthropicRoute('Anthropic, later system messages', { takesLaterSystem: true }, { takesLaterSystem: true }),
  chatRoute('Chat', {}, { takesLaterSystem: true }),
  chatRoute('Chat, system first', { takesLaterSystem: false }),
  chatRoute('Chat, strict template', { isStrict: true }, { hasStrictTemplate: true }),
  responsesRoute(),
];

function anthropicRoute(name: string, options: AnthropicOptions = {}, strict: Partial<Strictness> = {}): Route {
  const render = (request: WireRequest) => renderAnthropic(request, options);
  return {
    name,
    format: 'anthropic',
    dialect: anthropicDialect,
    strict,
    options,
    openRoundRule: 'A4',
    render: (request) => render(request).body,
    async ask(provider, request) {
      const rendered = render(request);
      const answer = await connectAnthropic(provider).messages.create(rendered.body);
      return record(readAnthropicAnswer(answer), request, rendered);
    },
  };
}

function chatRoute(name: string, options: ChatOptions = {}, strict: Partial<Strictness> = {}): Route {
  return {
    name,
    format: 'openai-chat',
    dialect: chatDialect,
    strict,
    options,
    openRoundRule: 'C1',
    render: (request) => renderChat(request, options).body,
    async ask(provider, request) {
      const rendered = renderChat(request, options);
      const { choices } = await connectOpenAi(provider).chat.completions.create(rendered.body);
      const [choice] = choices;
      if (choice === undefined) throw new Error('no choice');
      return record(readChatAnswer(choice), request, rendered);
    },
  };
}

function responsesRoute(): Route {
  return {
    name: 'Responses',
    format: 'openai-responses',
    dialect: responsesDialect,
    strict: {},
    options: {},
    openRoundRule: 'R1',
    render: (request) => renderResponses(request).body,
    async ask(provider, request) {
      const rendered = renderResponses(request);
      const answer = await connectOpenAi(provider).responses.create(rendered.body);
      return record(readResponsesAnswer(answer), request, rendered);
    },
  };
}

function record(
  { content, toolCalls, items }: AnswerParts,
  { model, version }: WireRequest,
  { format, prefix }: Rendered<unknown>,
): Message {
  return {
    role: 'assistant',
    content,
    ...(toolCalls.length === 0 ? {} : { toolCalls: [...toolCalls] }),
    raw: { format, model, ...(version === undefined ? {} : { version }), prefix, items },
  };
}
