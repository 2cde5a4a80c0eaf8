import type Anthropic from '@anthropic-ai/sdk';
import type { Message } from '../../domain/message.ts';
import { type ModelCompaction, ModelError, type ModelProfile, type ModelRequest } from '../../domain/model.ts';
import type { RawItems } from '../../domain/raw-items.ts';
import { eventLoopShare } from '../../tokens/event-loop-share.ts';
import type { AnthropicBody, AnthropicThinking } from '../../wire/anthropic/body.ts';
import { renderAnthropicInSlices } from '../../wire/anthropic/render.ts';
import { validateAnthropicInSlices } from '../../wire/anthropic/rules.ts';
import { describeForm } from '../../wire/form.ts';
import { callOptions, checkBody, sizeContext, toWireRequest } from '../request.ts';
import { codeAnthropicFailure } from './client.ts';
import { type AnthropicUsage, readAnthropicUsage } from './usage.ts';

type BetaMessage = Anthropic.Beta.BetaMessage;

/** Without it the API knows neither the parameter nor the block. */
const COMPACTION_BETA = 'compact-2026-09-04';

const END = '(end of what is to be compacted)';

export interface AnthropicCaller {
  readonly client: Anthropic;
  readonly profile: ModelProfile;
  readonly thinking: AnthropicThinking | undefined;
}

/** The header that a request needs which sends a compaction back (A10). */
export function betaHeader({ messages }: AnthropicBody): Readonly<Record<string, string>> {
  const types: string[] = messages.flatMap(({ content }) => content.map(({ type }) => type));
  return types.includes('compaction') ? { 'anthropic-beta': COMPACTION_BETA } : {};
}

/**
 * The API's own compaction of what `generate` would send, in the same words, so that the prompt cache serves it. Streamed as
 * every answer is.
 * @throws ModelError
 */
export async function compactAnthropic(
  { client, profile, thinking }: AnthropicCaller,
  request: ModelRequest,
): Promise<ModelCompaction> {
  const asked = { ...request, messages: endWithUser(request.messages) };
  const { body } = await eventLoopShare.run(
    renderAnthropicInSlices(toWireRequest(asked, profile), thinking === undefined ? {} : { thinking }),
  );
  const describe = (refusal: string): string => describeForm(body, refusal);
  checkBody(await eventLoopShare.run(validateAnthropicInSlices(body, sizeContext(profile))), describe);
  const sent = { ...body, compaction: { type: 'summarize' as const } };
  const message = await client.beta.messages
    .stream({ ...sent, betas: [COMPACTION_BETA] }, callOptions(request, sent))
    .finalMessage()
    .catch((error: unknown) => Promise.reject(codeAnthropicFailure(error, { signal: request.signal, describe })));
  return readCompaction(message, profile.id);
}

/** Newer models take no request that ends with the assistant's words (X4). Nothing says that this one is exempt. */
function endWithUser(messages: readonly Message[]): readonly Message[] {
  return messages.at(-1)?.role === 'assistant' ? [...messages, { role: 'user', content: END }] : messages;
}

/** @throws ModelError where the stream broke off, or brought no summary */
function readCompaction(message: BetaMessage, model: string): ModelCompaction {
  // A page of something in between comes back as text where an answer should be.
  if (!Array.isArray((message as Partial<BetaMessage> | null)?.content)) throw new ModelError('retry', 'no answer');
  const { content, stop_reason: reason } = message;
  if (reason === null) throw new ModelError('retry', 'the answer broke off');
  const usage = readAnthropicUsage(sumUsage(message.usage));
  if (reason !== 'compaction') throw new ModelError('fatal', 'nothing was compacted', { code: reason, usage });
  const block = content.find(({ type }) => type === 'compaction');
  if (block?.type !== 'compaction' || block.content === null) {
    throw new ModelError('fatal', 'the compaction failed', { code: 'no_compaction', usage });
  }
  const raw: RawItems = { format: 'anthropic', model, items: [{ ...block }] };
  return { text: block.content, usage, raw };
}

/** What a compaction read and wrote stands beside the answer's own counts, not in them. */
function sumUsage({ iterations, ...answer }: BetaMessage['usage']): AnthropicUsage {
  const passes = [answer, ...(iterations ?? []).filter(({ type }) => type === 'compaction')];
  const sum = (of: (usage: AnthropicUsage) => number | null | undefined): number =>
    passes.reduce((total, usage) => total + (of(usage) ?? 0), 0);
  return {
    input_tokens: sum((usage) => usage.input_tokens),
    cache_read_input_tokens: sum((usage) => usage.cache_read_input_tokens),
    cache_creation_input_tokens: sum((usage) => usage.cache_creation_input_tokens),
    output_tokens: sum((usage) => usage.output_tokens),
  };
}
