import type OpenAI from 'openai';
import { type ModelCompaction, ModelError, type ModelProfile, type ModelRequest } from '../../domain/model.ts';
import type { RawItems } from '../../domain/raw-items.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import { describeForm } from '../../wire/form.ts';
import { renderResponsesInSlices } from '../../wire/openai-responses/render.ts';
import { validateResponsesInSlices } from '../../wire/openai-responses/rules.ts';
import { callOptions, checkBody, sizeContext, toWireRequest } from '../request.ts';
import { codeOpenAiFailure } from './client.ts';
import { readResponsesUsage } from './responses-usage.ts';

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
export async function compactResponses(
  { client, profile, isReasoning }: ResponsesCaller,
  request: ModelRequest,
): Promise<ModelCompaction> {
  const { body } = await eventLoopShare.run(renderResponsesInSlices(toWireRequest(request, profile), { isReasoning }));
  const describe = (refusal: string): string => describeForm(body, refusal);
  // Nothing is to be answered, so that whoever spoke last may be anybody (X4).
  checkBody(
    await eventLoopShare.run(validateResponsesInSlices(body, { ...sizeContext(profile), isProbed: true })),
    describe,
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
