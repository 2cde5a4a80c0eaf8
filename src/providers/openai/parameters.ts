import type OpenAI from 'openai';
import { ModelError, type ModelProfile, type ModelRequest } from '../../domain/model.ts';
import type { ModelAbilities, ModelOptions } from '../../domain/model-options.ts';
import type { ProviderSchema } from '../../domain/provider-schema.ts';
import { effortOf, holdsFor, isForced, pickChoice } from '../check-options.ts';

type ResponsesParameters = Partial<
  Pick<
    OpenAI.Responses.ResponseCreateParams,
    'reasoning' | 'temperature' | 'top_p' | 'tool_choice' | 'service_tier' | 'text'
  >
>;

export function writeResponsesParameters(
  options: ModelOptions,
  profile: ModelProfile,
  request: ModelRequest,
): ResponsesParameters {
  const { thinking, temperature, topP, serviceTier, extraBody } = options;
  const effort = effortFor(options, profile, request);
  const isSummarized = thinking?.type === 'adaptive' && thinking.display === 'summarized';
  const reasoning = { ...(effort !== undefined && { effort }), ...(isSummarized && { summary: 'auto' as const }) };
  const choice = findChoice(options, request);
  const format = findFormat(profile, request);
  return {
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(choice !== undefined && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function' as const, name: choice.tool },
    }),
    ...(format !== undefined && { text: { format: { type: 'json_schema' as const, ...writeFormat(format) } } }),
    ...(serviceTier !== undefined && { service_tier: serviceTier as NonNullable<ResponsesParameters['service_tier']> }),
    ...extraBody,
  };
}

type ChatParameters = Partial<
  Pick<
    OpenAI.ChatCompletionCreateParams,
    'reasoning_effort' | 'temperature' | 'top_p' | 'stop' | 'tool_choice' | 'service_tier' | 'response_format'
  >
>;

/** @throws ModelError if the model calls tools only in the Responses API */
export function writeChatParameters(
  options: ModelOptions,
  profile: ModelProfile,
  request: ModelRequest,
): ChatParameters {
  const { temperature, topP, stop, serviceTier, extraBody } = options;
  const { toolRefusal: refusal } = profile;
  if (request.tools.length > 0 && refusal !== undefined)
    throw new ModelError('fatal', refusal, { code: 'tools_need_responses' });
  const isWithoutReasoning = request.tools.length > 0 && readChatTools(profile) === 'without_reasoning';
  const effort = isWithoutReasoning ? 'none' : effortFor(options, profile, request);
  const choice = findChoice(options, request);
  const format = findFormat(profile, request);
  return {
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop }),
    ...(choice !== undefined && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function' as const, function: { name: choice.tool } },
    }),
    ...(format !== undefined && {
      response_format: { type: 'json_schema' as const, json_schema: writeFormat(format) },
    }),
    ...(serviceTier !== undefined && { service_tier: serviceTier as NonNullable<ChatParameters['service_tier']> }),
    ...extraBody,
  };
}

/**
 * States why the API would refuse tools. From GPT-5.4 on, OpenAI accepts tools in Chat Completions only without
 * reasoning, and for some models never.
 */
export function findToolRefusal(profile: ModelProfile, { effort }: ModelOptions): string | undefined {
  const { id } = profile;
  const chatTools = readChatTools(profile);
  const instead = `Use openai/${id}, the Responses API`;
  if (chatTools === 'never') return `${id} calls tools only through the Responses API. ${instead}`;
  return chatTools === 'without_reasoning' && effort !== undefined && effort !== 'none'
    ? `${id} calls tools through Chat Completions only with effort none, but its effort is ${effort}. ${instead}`
    : undefined;
}

/** Models that reason unless the request says otherwise, from GPT-5.6 on. */
const REASONS = /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9])/;

function readChatTools({ id, abilities }: ModelProfile): NonNullable<ModelAbilities['chatTools']> {
  return abilities?.chatTools ?? (REASONS.test(id) ? 'without_reasoning' : 'always');
}

/** Only some providers enforce the schema of the final answer. */
function findFormat({ abilities }: ModelProfile, { answerSchema }: ModelRequest): ProviderSchema | undefined {
  return abilities?.structured === true ? answerSchema : undefined;
}

function writeFormat({ schema, isStrict, name = 'answer' }: ProviderSchema) {
  return { name, schema: { ...schema }, strict: isStrict };
}

function effortFor(
  options: ModelOptions,
  { abilities }: ModelProfile,
  { thinking }: ModelRequest,
): ModelOptions['effort'] {
  const isOff = thinking === 'off' && abilities?.efforts?.includes('none') === true;
  return isOff ? 'none' : effortOf(options, {});
}

function findChoice(options: ModelOptions, request: ModelRequest): ModelOptions['toolChoice'] {
  const { toolChoice } = { ...options, ...pickChoice(request) };
  if (toolChoice === undefined || request.tools.length === 0) return undefined;
  return isForced(toolChoice) && !holdsFor(toolChoice, request) ? undefined : toolChoice;
}

/** Fields by which OpenAI routes a request to a server with its start in the cache, and knows the responsible user. */
interface RequestHints {
  readonly prompt_cache_key?: string;
  readonly safety_identifier?: string;
}

/** Writes nothing for other servers than OpenAI's, because they may refuse fields that they do not know. */
export function writeHints(
  { cache, safetyIdentifier }: Pick<ModelRequest, 'cache' | 'safetyIdentifier'>,
  isOpenAi: boolean,
): RequestHints {
  if (!isOpenAi) return {};
  return {
    ...(cache !== undefined && { prompt_cache_key: cache.key }),
    ...(safetyIdentifier !== undefined && { safety_identifier: safetyIdentifier }),
  };
}

const OPENAI_HOST = /(?:^|\.)openai(?:\.azure)?\.com$/;

export function knowsHints(baseUrl: string | undefined): boolean {
  return baseUrl === undefined || (URL.canParse(baseUrl) && OPENAI_HOST.test(new URL(baseUrl).hostname));
}
