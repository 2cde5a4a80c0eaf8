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
import { codeFailures, tellEvents, tellTo, type WatchedRequest } from '../answer-stream.ts';
import { callOptions, renderChecked, sizeContext, toWireRequest } from '../provider-call.ts';
import { classifyFailure, mendThinking } from '../provider-errors.ts';
import { codeOpenAiFailure, type OpenAiOptions, openOpenAiClient } from './client.ts';

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
  const rendering = renderResponsesInSlices(toWireRequest(request, profile), { isReasoning });
  const { body, describe } = await renderChecked(rendering, (sent) =>
    validateResponsesInSlices(sent, sizeContext(profile)),
  );
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

type CompactedResponse = OpenAI.Responses.CompactedResponse;

export interface ResponsesCaller {
  readonly client: OpenAI;
  readonly profile: ModelProfile;
  readonly isReasoning: boolean;
}

/**
 * The API's own compaction of what `generate` would send: the users' messages, as far as it keeps them, and a sealed item that
 * stands for all else. The endpoint takes neither tools nor a cap for what it writes.
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
    .catch((error: unknown) => Promise.reject(codeOpenAiFailure(error, { signal: request.signal, describe })));
  return readCompaction(response, profile.id);
}

/** @throws ModelError where that is no compaction */
function readCompaction(response: CompactedResponse, model: string): ModelCompaction {
  // A page of something in between comes back as text where an answer should be.
  const { output, usage: told }: Partial<CompactedResponse> = response ?? {};
  if (!Array.isArray(output)) throw new ModelError('retry', 'no answer');
  const items = output.map((item) => ({ ...item }));
  const paid = told ? { usage: readResponsesUsage(told) } : {};
  if (!items.some(({ type }) => type === 'compaction'))
    throw new ModelError('fatal', 'nothing was compacted', { code: 'no_compaction', ...paid });
  const raw: RawItems = { format: 'openai-responses', model, items };
  return { raw, ...paid };
}

/** Reasoning is sent again, sealed, while the version holds. Compatible servers leave the details out. */
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
