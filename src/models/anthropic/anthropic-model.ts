import type Anthropic from '@anthropic-ai/sdk';
import { type Model, type ModelAnswer, ModelError, type ModelProfile } from '../../domain/model.ts';
import { readAnthropicAnswer } from '../../wire/anthropic/answer.ts';
import type { AnthropicThinking } from '../../wire/anthropic/body.ts';
import { renderAnthropic } from '../../wire/anthropic/render.ts';
import { validateAnthropic } from '../../wire/anthropic/rules.ts';
import { describeForm } from '../../wire/form.ts';
import { tellTo } from '../answer-stream.ts';
import type { WatchedRequest } from '../first-event.ts';
import { mendThinking } from '../refused-thinking.ts';
import { callOptions, checkBody, sizeContext, toWireRequest } from '../request.ts';
import { type AnthropicConnection, codeFailure, openClient } from './client.ts';
import { type AnthropicCaller, betaHeader, compactAnthropic } from './compaction.ts';
import { InputTexts } from './input-texts.ts';
import { readUsage } from './usage.ts';

export interface AnthropicModelOptions extends AnthropicConnection {
  /** `id` is the provider's name of the model */
  readonly profile: ModelProfile;
  /** which form a model takes is its own: newer ones want `adaptive` and no budget. Absent: off */
  readonly thinking?: AnthropicThinking;
}

/**
 * A model of the Messages API. Answers are streamed, since a long one outlives idle connections; retries are the turn's, and
 * the deadline is the step's.
 */
export function anthropicModel({ profile: given, thinking, ...connection }: AnthropicModelOptions): Model {
  const rendering = thinking === undefined ? {} : { renderOptions: { thinking } };
  const profile: ModelProfile = { ...given, format: 'anthropic', ...rendering };
  const caller = { client: openClient(connection), profile, thinking };
  return {
    profile,
    generate: (request) => mendThinking(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => mendThinking(request, (sent) => compactAnthropic(caller, sent)),
  };
}

async function answerRequest(
  { client, profile, thinking }: AnthropicCaller,
  request: WatchedRequest,
): Promise<ModelAnswer> {
  const { body, marks } = renderAnthropic(toWireRequest(request, profile), thinking === undefined ? {} : { thinking });
  const describe = (refusal: string): string => describeForm(body, refusal);
  checkBody(validateAnthropic(body, sizeContext(profile)), describe);
  const { signal, headers } = callOptions(request, body);
  const inputs = new InputTexts();
  const message = await client.messages
    .stream(body, { signal, headers: { ...headers, ...betaHeader(body) } })
    .on('streamEvent', (event) => {
      request.onEvent?.();
      inputs.hear(event);
    })
    .on('text', tellTo(request.onText))
    .finalMessage()
    .catch((error: unknown) => Promise.reject(codeFailure(error, { signal, describe })));
  const version = request.version === undefined ? {} : { version: request.version };
  const raw = { format: 'anthropic', model: profile.id, prefix: marks.prefix, ...version };
  const answer = readMessage(message, raw);
  return { ...answer, toolCalls: inputs.restore(message.content, answer.toolCalls) };
}

/** @throws ModelError where the stream broke off, or brought something that is no answer */
function readMessage(message: Anthropic.Message, raw: Record<string, unknown>): ModelAnswer {
  // A page of something in between comes back as text where an answer should be.
  if (!Array.isArray((message as Partial<Anthropic.Message> | null)?.content))
    throw new ModelError('retry', 'no answer');
  if (message.stop_reason === null) throw new ModelError('retry', 'the answer broke off');
  if (message.stop_reason === 'model_context_window_exceeded') {
    throw new ModelError('overflow', 'the answer met the end of the window', { code: message.stop_reason });
  }
  const { items, end, ...said } = readAnthropicAnswer(message);
  return { ...said, ...(end === undefined ? {} : { end }), usage: readUsage(message.usage), raw: { ...raw, items } };
}
