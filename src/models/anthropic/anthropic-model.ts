import { type Model, type ModelAnswer, ModelError, type ModelProfile } from '../../domain/model.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { readAnthropicAnswer } from '../../wire/anthropic/answer.ts';
import type { AnthropicThinking } from '../../wire/anthropic/body.ts';
import { renderAnthropicInSlices } from '../../wire/anthropic/render.ts';
import { validateAnthropicInSlices } from '../../wire/anthropic/rules.ts';
import { describeForm } from '../../wire/form.ts';
import { codeFailures, tellEvents, tellTo } from '../answer-stream.ts';
import type { WatchedRequest } from '../first-event.ts';
import { mendThinking } from '../refused-thinking.ts';
import { callOptions, checkBody, sizeContext, toWireRequest } from '../request.ts';
import { type AnthropicConnection, codeAnthropicFailure, openAnthropicClient } from './client.ts';
import { type AnthropicCaller, betaHeader, compactAnthropic } from './compaction.ts';
import { readMessageStream, type StreamedAnthropicMessage } from './message-stream.ts';
import { readAnthropicUsage } from './usage.ts';

export type { AnthropicThinking };

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
  const caller = { client: openAnthropicClient(connection), profile, thinking };
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
  const { body, marks } = await eventLoopShare.run(
    renderAnthropicInSlices(toWireRequest(request, profile), thinking === undefined ? {} : { thinking }),
  );
  const describe = (refusal: string): string => describeForm(body, refusal);
  checkBody(await eventLoopShare.run(validateAnthropicInSlices(body, sizeContext(profile))), describe);
  const { signal, headers } = callOptions(request, body);
  const code = (error: unknown): ModelError => codeAnthropicFailure(error, { signal, describe });
  const events = await client.messages
    .create({ ...body, stream: true }, { signal, headers: { ...headers, ...betaHeader(body) } })
    .catch((error: unknown) => Promise.reject(code(error)));
  const told = codeFailures(tellEvents(events, request.onEvent), signal, code);
  const message = await readMessageStream(told, {
    tell: tellTo(request.onText),
    tellUsage: (usage) => request.onUsage?.(readAnthropicUsage(usage)),
  });
  const version = request.version === undefined ? {} : { version: request.version };
  return readMessage(message, { format: 'anthropic', model: profile.id, prefix: marks.prefix, ...version });
}

/** @throws ModelError where the stream broke off, or the window ended the answer */
function readMessage(message: StreamedAnthropicMessage, raw: Record<string, unknown>): ModelAnswer {
  if (message.stop_reason === null) throw new ModelError('retry', 'the answer broke off');
  if (message.stop_reason === 'model_context_window_exceeded') {
    const paid = { code: message.stop_reason, usage: readAnthropicUsage(message.usage) };
    throw new ModelError('overflow', 'the answer met the end of the window', paid);
  }
  const { items, end, ...said } = readAnthropicAnswer(message);
  return {
    ...said,
    ...(end === undefined ? {} : { end }),
    usage: readAnthropicUsage(message.usage),
    raw: { ...raw, items },
  };
}
