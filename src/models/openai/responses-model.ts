import type OpenAI from 'openai';
import {
  type Model,
  type ModelAnswer,
  type ModelCompaction,
  ModelError,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
} from '../../domain/model.ts';
import type { RawItems } from '../../domain/raw-items.ts';
import { readResponsesAnswer } from '../../wire/openai-responses/answer.ts';
import { renderResponsesInSlices } from '../../wire/openai-responses/render.ts';
import { validateResponsesInSlices } from '../../wire/openai-responses/rules.ts';
import { streamEvents, textNotifier, type WatchedRequest } from '../answer-stream.ts';
import { callOptions, recordAnswer, renderChecked, sizeContext, toWireRequest } from '../provider-call.ts';
import { classifyFailure, retryWithoutThinking } from '../provider-errors.ts';
import { classifyOpenAiError, type OpenAiOptions, openOpenAiClient } from './client.ts';

type Response = OpenAI.Responses.Response;

export interface ResponsesModelOptions extends OpenAiOptions {
  /** Set to false for a model without reasoning, which refuses a request for encrypted reasoning. Default true. */
  readonly isReasoning?: boolean;
}

/** A stateless model of the Responses API: each request sends the history, with encrypted reasoning. */
export function responsesModel({ profile: given, isReasoning = true, ...connection }: ResponsesModelOptions): Model {
  const profile: ModelProfile = { ...given, format: 'openai-responses', renderOptions: { isReasoning } };
  const caller = { client: openOpenAiClient(connection), profile, isReasoning };
  return {
    profile,
    generate: (request) => retryWithoutThinking(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => retryWithoutThinking(request, (sent) => compactResponses(caller, sent)),
  };
}

async function answerRequest(
  { client, profile, isReasoning }: ResponsesCaller,
  request: WatchedRequest,
): Promise<ModelAnswer> {
  const rendering = renderResponsesInSlices(toWireRequest(request, profile), { isReasoning });
  const { body, describe } = await renderChecked(rendering, (sent) =>
    validateResponsesInSlices(sent, sizeContext(profile)),
  );
  const { signal, version } = request;
  const events = streamEvents(
    () => client.responses.create({ ...body, stream: true }, callOptions(request, body)),
    request,
    (error) => classifyOpenAiError(error, { signal, describe }),
  );
  const response = await readStream(events, describe, textNotifier(request.onText));
  if (!Array.isArray((response as Partial<Response> | undefined)?.output))
    throw new ModelError('retry', 'the response is no answer');
  const usage = response.usage ? readResponsesUsage(response.usage) : undefined;
  return recordAnswer(readResponsesAnswer(response), profile, { version }, usage);
}

/**
 * Reads the response from the last event.
 * @throws ModelError. A failure inside a stream comes as an event without a status.
 */
async function readStream(
  events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
  describe: (refusal: string) => string,
  onText: (piece: string) => void,
): Promise<Response> {
  let lastIndex: number | undefined;
  for await (const event of events) {
    switch (event?.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        if (event.delta === '') break;
        // `joinOutputTexts` separates two messages in the same way.
        if (lastIndex !== undefined && lastIndex !== event.output_index) onText('\n\n');
        lastIndex = event.output_index;
        onText(event.delta);
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

type CompactedResponse = OpenAI.Responses.CompactedResponse;

interface ResponsesCaller {
  readonly client: OpenAI;
  readonly profile: ModelProfile;
  readonly isReasoning: boolean;
}

/**
 * Asks the API to compact what `generate` would send. The result is the user messages that it keeps, and an encrypted
 * item. The endpoint takes neither tools nor an output cap.
 * @throws ModelError
 */
async function compactResponses(
  { client, profile, isReasoning }: ResponsesCaller,
  request: ModelRequest,
): Promise<ModelCompaction> {
  const rendering = renderResponsesInSlices(toWireRequest(request, profile), { isReasoning });
  // The endpoint writes no answer, so the context may end with any message (X4).
  const { body, describe } = await renderChecked(rendering, (given) =>
    validateResponsesInSlices(given, { ...sizeContext(profile), isProbed: true }),
  );
  const { model, input, instructions } = body;
  const sent = { model, input, ...(instructions === undefined ? {} : { instructions }) };
  const response = await client.responses
    .compact(sent, callOptions(request, sent))
    .catch((error: unknown) => Promise.reject(classifyOpenAiError(error, { signal: request.signal, describe })));
  return readCompaction(response, profile.id);
}

/** @throws ModelError if the response is no compaction */
function readCompaction(response: CompactedResponse, model: string): ModelCompaction {
  // A proxy's error page arrives as text in place of an answer.
  const { output, usage }: Partial<CompactedResponse> = response ?? {};
  if (!Array.isArray(output)) throw new ModelError('retry', 'the response is no answer');
  const items = output.map((item) => ({ ...item }));
  const paid = usage ? { usage: readResponsesUsage(usage) } : {};
  if (!items.some(({ type }) => type === 'compaction'))
    throw new ModelError('fatal', 'the provider compacted nothing', { code: 'no_compaction', ...paid });
  const raw: RawItems = { format: 'openai-responses', model, items };
  return { raw, ...paid };
}

/** Counts reasoning as kept, because requests repeat reasoning until the version changes. */
function readResponsesUsage({ input_tokens, output_tokens, ...details }: OpenAI.Responses.ResponseUsage): ModelUsage {
  const input: Partial<typeof details.input_tokens_details> = details.input_tokens_details ?? {};
  return {
    inputTotal: input_tokens,
    cachedInput: input.cached_tokens ?? 0,
    cacheWrite: input.cache_write_tokens ?? 0,
    output: output_tokens,
    outputKept: output_tokens,
  };
}
