import type OpenAI from 'openai';
import { type Model, type ModelAnswer, ModelError, type ModelProfile, type ModelUsage } from '../../domain/model.ts';
import { describeForm } from '../../wire/form.ts';
import { readResponsesAnswer } from '../../wire/openai-responses/answer.ts';
import { renderResponses } from '../../wire/openai-responses/render.ts';
import { validateResponses } from '../../wire/openai-responses/rules.ts';
import { classifyFailure } from '../provider-errors.ts';
import { checkBody, sizeContext, toWireRequest } from '../request.ts';
import { describeError, type OpenAiOptions, openClient } from './client.ts';

type Response = OpenAI.Responses.Response;

export interface ResponsesModelOptions extends OpenAiOptions {
  /** false for a model that does not reason: it refuses to be asked for sealed reasoning (default true) */
  readonly isReasoning?: boolean;
}

/** A model of the Responses API, stateless: the history is ours, and reasoning comes back sealed. */
export function responsesModel({ profile: given, isReasoning = true, ...connection }: ResponsesModelOptions): Model {
  const profile: ModelProfile = { ...given, format: 'openai-responses' };
  const client = openClient(connection);
  return {
    profile,
    async generate(request) {
      const { body } = renderResponses(toWireRequest(request, profile), { isReasoning });
      const describe = (refusal: string): string => describeForm(body, refusal);
      checkBody(validateResponses(body, sizeContext(profile)), describe);
      const { signal, version } = request;
      try {
        const events = await client.responses.create({ ...body, stream: true }, { signal });
        const raw = { format: 'openai-responses', model: profile.id, ...(version === undefined ? {} : { version }) };
        return readResponse(await readStream(events, describe), raw);
      } catch (error) {
        signal.throwIfAborted();
        throw error instanceof ModelError ? error : classifyFailure(describeError(error), Date.now(), describe);
      }
    },
  };
}

/**
 * The last event holds the whole answer.
 * @throws ModelError: a failure inside of a stream is told by an event, with no status and no throw
 */
async function readStream(
  events: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>,
  describe: (refusal: string) => string,
): Promise<Response> {
  for await (const event of events) {
    switch (event.type) {
      case 'response.completed':
      case 'response.incomplete':
        return event.response;
      case 'response.failed': {
        const { code, message } = event.response.error ?? { code: undefined, message: '' };
        throw classifyFailure({ code, message }, Date.now(), describe);
      }
      case 'error':
        throw classifyFailure({ code: event.code, message: event.message }, Date.now(), describe);
      default:
    }
  }
  throw new ModelError('retry', 'the answer broke off');
}

function readResponse(response: Response, raw: Record<string, unknown>): ModelAnswer {
  const { items, end, ...said } = readResponsesAnswer(response);
  return {
    ...said,
    ...(end === undefined ? {} : { end }),
    ...(response.usage ? { usage: readUsage(response.usage) } : {}),
    raw: { ...raw, items },
  };
}

/** Reasoning is sent again, sealed, while the version holds. Compatible servers leave the details out. */
function readUsage({ input_tokens, output_tokens, ...details }: OpenAI.Responses.ResponseUsage): ModelUsage {
  const input: Partial<typeof details.input_tokens_details> = details.input_tokens_details ?? {};
  return {
    inputTotal: input_tokens,
    cachedInput: input.cached_tokens ?? 0,
    cacheWrite: input.cache_write_tokens ?? 0,
    output: output_tokens,
    outputKept: output_tokens,
  };
}
