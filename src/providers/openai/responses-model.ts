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
import type { ModelOptions } from '../../domain/model-options.ts';
import type { RawItems } from '../../domain/raw-items.ts';
import { readResponsesAnswer } from '../../wire/openai-responses/answer.ts';
import { renderResponsesInSlices } from '../../wire/openai-responses/render.ts';
import { validateResponsesInSlices } from '../../wire/openai-responses/rules.ts';
import { pieceListeners, type WatchedRequest } from '../answer-stream.ts';
import { checkApiKey, checkOptions } from '../check-options.ts';
import { callOptions, gateOf, loadSdk, renderChecked, toModelAnswer, toWireRequest } from '../provider-call.ts';
import { replacedAnswer } from '../provider-errors.ts';
import { FormMemory, LearnedHabits } from '../provider-habits.ts';
import { readNextCallAt } from '../rate-limits.ts';
import { receiveEvents } from '../received-events.ts';
import type { OpenAiAccess, OpenAiOptions } from './client.ts';
import { knowsHints, writeHints, writeResponsesParameters } from './parameters.ts';
import { ResponseReading } from './responses-stream.ts';

export interface ResponsesModelOptions extends OpenAiOptions, ModelOptions {
  /**
   * False for a model without reasoning, because such a model refuses a request for encrypted reasoning. Default true.
   */
  readonly isReasoning?: boolean;
}

/**
 * A model of OpenAI's Responses API. The server stores nothing: each request has the whole history and its reasoning.
 * @throws invalid_config for an option that the model does not accept, with the field
 */
export function responsesModel(model: ResponsesModelOptions): Model {
  const {
    profile: given,
    apiKey,
    baseUrl,
    hasRequestHints = knowsHints(baseUrl),
    isReasoning = true,
    ...asked
  } = model;
  const { options, profile: limited } = checkOptions(asked, given, 'openai-responses');
  const profile: ModelProfile = { ...limited, format: 'openai-responses', renderOptions: { isReasoning } };
  checkApiKey(apiKey);
  const access = loadSdk(
    () => import('./client.ts'),
    ({ openOpenAi }) => openOpenAi({ apiKey, baseUrl }),
  );
  const habits = new LearnedHabits(profile);
  const caller = { access, profile, isReasoning, hasRequestHints, options, habits };
  const memory = new FormMemory(habits);
  return {
    profile,
    gate: gateOf(options, profile, apiKey, baseUrl),
    generate: (request) => memory.send(request, (sent) => answerRequest(caller, sent)),
    compact: (request) => memory.send(request, (sent) => compactResponses(caller, sent)),
  };
}

async function answerRequest(
  { access, profile, isReasoning, hasRequestHints, options, habits }: ResponsesCaller,
  request: WatchedRequest,
): Promise<ModelAnswer> {
  const sdk = await access();
  const rendering = renderResponsesInSlices(toWireRequest(request, profile), { ...habits.current, isReasoning });
  const { body, describe } = await renderChecked(rendering, (sent) =>
    validateResponsesInSlices(sent, { maxBytes: profile.maxRequestBytes }),
  );
  const { version } = request;
  const sent = {
    ...body,
    ...writeHints(request, hasRequestHints),
    ...writeResponsesParameters(options, profile, request),
  };
  const reading = new ResponseReading(describe, pieceListeners(request));
  const { nextCallAt } = await receiveEvents<unknown>({
    access: sdk,
    request,
    describe,
    send: (sending) =>
      sdk.client.responses
        .create({ ...sent, stream: true }, { ...callOptions(request, sent, options.extraHeaders), ...sending })
        .asResponse(),
    take: (event) => reading.add(event),
  });
  const response = reading.finish();
  const usage = response.usage ? readResponsesUsage(response.usage) : undefined;
  return toModelAnswer(readResponsesAnswer(response), profile, { version, nextCallAt }, usage);
}

type CompactedResponse = OpenAI.Responses.CompactedResponse;

interface ResponsesCaller {
  readonly access: () => Promise<OpenAiAccess>;
  readonly profile: ModelProfile;
  readonly isReasoning: boolean;
  readonly hasRequestHints: boolean;
  readonly options: ModelOptions;
  readonly habits: LearnedHabits;
}

/**
 * Asks the API to compact the request that `generate` would send, without tools and output limit.
 * @throws ModelError if the call fails or returns no compaction
 */
async function compactResponses(
  { access, profile, isReasoning, options, habits }: ResponsesCaller,
  request: ModelRequest,
): Promise<ModelCompaction> {
  const { client, classify } = await access();
  const rendering = renderResponsesInSlices(toWireRequest(request, profile), { ...habits.current, isReasoning });
  // The endpoint writes no answer, so the last message may have any role (wire rule X4).
  const { body, describe } = await renderChecked(rendering, (given) =>
    validateResponsesInSlices(given, { maxBytes: profile.maxRequestBytes, isProbed: true }),
  );
  const { model, input, instructions } = body;
  const sent = { model, input, ...(instructions === undefined ? {} : { instructions }) };
  const { data, response } = await client.responses
    .compact(sent, callOptions(request, sent, options.extraHeaders))
    .withResponse()
    .catch((error: unknown) => Promise.reject(classify(error, { signal: request.signal, describe })));
  return { ...readCompaction(data, profile.id), nextCallAt: readNextCallAt(response.headers, Date.now()) };
}

function readCompaction(response: CompactedResponse, model: string): ModelCompaction {
  // A proxy may answer with an error page instead of a response.
  const { output, usage }: Partial<CompactedResponse> = response ?? {};
  if (!Array.isArray(output)) throw replacedAnswer();
  const items = output.map((item) => ({ ...item }));
  const paid = usage ? { usage: readResponsesUsage(usage) } : {};
  if (!items.some(({ type }) => type === 'compaction'))
    throw new ModelError('fatal', 'the provider did not compact the messages', { code: 'no_compaction', ...paid });
  const raw: RawItems = { format: 'openai-responses', model, items };
  return { raw, ...paid };
}

/** Reasoning counts as kept output, because later requests repeat it until the next version. */
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
