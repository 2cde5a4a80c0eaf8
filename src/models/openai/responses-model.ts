import type OpenAI from 'openai';
import { type Model, type ModelAnswer, ModelError, type ModelProfile } from '../../domain/model.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { describeForm } from '../../wire/form.ts';
import { readResponsesAnswer } from '../../wire/openai-responses/answer.ts';
import { renderResponsesInSlices } from '../../wire/openai-responses/render.ts';
import { validateResponsesInSlices } from '../../wire/openai-responses/rules.ts';
import { codeFailures, tellEvents, tellTo } from '../answer-stream.ts';
import type { WatchedRequest } from '../first-event.ts';
import { classifyFailure } from '../provider-errors.ts';
import { mendThinking } from '../refused-thinking.ts';
import { callOptions, checkBody, sizeContext, toWireRequest } from '../request.ts';
import { codeOpenAiFailure, type OpenAiOptions, openOpenAiClient } from './client.ts';
import { compactResponses, type ResponsesCaller } from './responses-compaction.ts';
import { readResponsesUsage } from './responses-usage.ts';

type Response = OpenAI.Responses.Response;

export interface ResponsesModelOptions extends OpenAiOptions {
  /** false for a model that does not reason: it refuses to be asked for sealed reasoning (default true) */
  readonly isReasoning?: boolean;
}

/** A model of the Responses API, stateless: the history is ours, and reasoning comes back sealed. */
export function responsesModel({ profile: given, isReasoning = true, ...connection }: ResponsesModelOptions): Model {
  const profile: ModelProfile = { ...given, format: 'openai-responses', renderOptions: { isReasoning } };
  const caller = { client: openOpenAiClient(connection), profile, isReasoning };
  return {
    profile,
    generate: (request) => mendThinking(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => mendThinking(request, (sent) => compactResponses(caller, sent)),
  };
}

async function answerRequest(
  { client, profile, isReasoning }: ResponsesCaller,
  request: WatchedRequest,
): Promise<ModelAnswer> {
  const { body } = await eventLoopShare.run(renderResponsesInSlices(toWireRequest(request, profile), { isReasoning }));
  const describe = (refusal: string): string => describeForm(body, refusal);
  checkBody(await eventLoopShare.run(validateResponsesInSlices(body, sizeContext(profile))), describe);
  const { signal, version } = request;
  const code = (error: unknown): ModelError => codeOpenAiFailure(error, { signal, describe });
  const events = await client.responses
    .create({ ...body, stream: true }, callOptions(request, body))
    .catch((error: unknown) => Promise.reject(code(error)));
  const told = tellEvents(events, request.onEvent);
  const response = await readStream(codeFailures(told, signal, code), { describe, tell: tellTo(request.onText) });
  const raw = { format: 'openai-responses', model: profile.id, ...(version === undefined ? {} : { version }) };
  return readResponse(response, raw);
}

interface StreamListeners {
  readonly describe: (refusal: string) => string;
  /** is told the text as it comes */
  readonly tell: (piece: string) => void;
}

/**
 * The last event holds the whole answer.
 * @throws ModelError: a failure inside of a stream is told by an event, with no status and no throw
 */
async function readStream(
  events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
  { describe, tell }: StreamListeners,
): Promise<Response> {
  let told: number | undefined;
  for await (const event of events) {
    switch (event?.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        if (event.delta === '') break;
        // As the answer's text is put together of several messages.
        if (told !== undefined && told !== event.output_index) tell('\n\n');
        told = event.output_index;
        tell(event.delta);
        break;
      case 'response.completed':
      case 'response.incomplete':
        return event.response;
      case 'response.failed': {
        const { code, type, message = '' } = event.response?.error ?? {};
        throw classifyFailure({ code, type, message }, Date.now(), describe);
      }
      case 'error':
        throw classifyFailure({ code: event.code, message: event.message }, Date.now(), describe);
      default:
    }
  }
  throw new ModelError('retry', 'the answer broke off');
}

/** @throws ModelError where that is no answer */
function readResponse(response: Response, raw: Record<string, unknown>): ModelAnswer {
  if (!Array.isArray((response as Partial<Response> | undefined)?.output)) throw new ModelError('retry', 'no answer');
  const { items, end, ...said } = readResponsesAnswer(response);
  return {
    ...said,
    ...(end === undefined ? {} : { end }),
    ...(response.usage ? { usage: readResponsesUsage(response.usage) } : {}),
    raw: { ...raw, items },
  };
}
