import type {
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4ProviderTool,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { TurnfoldError } from '../../domain/errors.ts';
import type { GateSettings } from '../../domain/gate.ts';
import { type Model, type ModelAnswer, ModelError, type ModelProfile, type ModelRequest } from '../../domain/model.ts';
import type { ToolChoice } from '../../domain/model-options.ts';
import { readSafely } from '../../domain/thrown.ts';
import { outlineRequest } from '../../wire/request-outline.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { pieceListeners, streamEvents, type WatchedRequest } from '../answer-stream.ts';
import { type Catalogue, findProfile } from '../catalogue/catalogue.ts';
import { holdsFor, isForced } from '../check-options.ts';
import { callOptions, toModelAnswer, toWireRequest } from '../provider-call.ts';
import { FormMemory, LearnedHabits } from '../provider-habits.ts';
import { readNextCallAt } from '../rate-limits.ts';
import { readAnswerStream } from './answer-stream.ts';
import { classifyAiSdkError } from './call-errors.ts';
import { type AiSdkPrompt, writePromptInSlices } from './prompt.ts';
import { mergeProviderOptions, type ProviderOptions, type ProviderTraits, traitsOf } from './provider-traits.ts';

/** A language model of the AI SDK, in the newest or the previous version of its specification. */
export type AiSdkLanguageModel = LanguageModelV4 | LanguageModelV3;

/** Settings of every request, as the AI SDK names them. A model may ignore settings that it does not support. */
export type AiSdkSettings = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'seed'
  | 'stopSequences'
  | 'toolChoice'
  | 'reasoning'
  | 'headers'
>;

export interface AiSdkModelOptions {
  /**
   * Properties of the model. Absent properties come from the catalogue. A model without a catalogue entry needs
   * `windowTokens` and `outputCapTokens`.
   */
  readonly profile?: Partial<Omit<ModelProfile, 'id' | 'format' | 'renderOptions'>>;
  /** Profiles of models that the built-in catalogue lacks. */
  readonly catalogue?: Catalogue;
  /** Limits that all workers obey together for the calls of this model. */
  readonly gate?: GateSettings;
  /** Settings of every request (default: the provider's settings). */
  readonly settings?: AiSdkSettings;
  /** Options of single providers, by provider. For example, `thinking` of Anthropic belongs here. */
  readonly providerOptions?: ProviderOptions;
  /** Tools that the provider runs, such as a web search. turnfold neither runs nor records their calls. */
  readonly providerTools?: readonly LanguageModelV4ProviderTool[];
  /** True if requests get marks for the prompt cache of Anthropic and Bedrock (default true). */
  readonly hasCacheMarks?: boolean;
}

/**
 * A model of any provider with an AI SDK package. Answers are streamed. The turn retries, and not the AI SDK.
 * @throws invalid_config if `model` is no language model of version v3 or v4, or if its profile is not known
 */
export function aiSdkModel(model: AiSdkLanguageModel, options: AiSdkModelOptions = {}): Model {
  checkModel(model);
  const profile = readProfile(model, options);
  const habits = new LearnedHabits(profile);
  const caller = { model, profile, traits: traitsOf(model), habits, options };
  const memory = new FormMemory(habits);
  const { gate = {} } = options;
  return { profile, gate, generate: (request) => memory.send(request, (sent) => answerRequest(caller, sent)) };
}

interface Caller {
  readonly model: AiSdkLanguageModel;
  readonly profile: ModelProfile;
  readonly traits: ProviderTraits;
  readonly habits: LearnedHabits;
  readonly options: AiSdkModelOptions;
}

function checkModel(model: unknown): void {
  const version = readSafely(model, 'specificationVersion');
  if ((version === 'v3' || version === 'v4') && typeof readSafely(model, 'doStream') === 'function') return;
  const given =
    typeof model === 'string' ? 'a model id: pass the object that its provider returns' : `version ${String(version)}`;
  throw new TurnfoldError(
    'invalid_config',
    `model: expected a language model of the AI SDK with the specification version v3 or v4, but got ${given}`,
    { field: 'model' },
  );
}

/** Upper bound factor for an unknown tokenizer: that of Claude, whose counts differ most from turnfold's. */
const UNKNOWN_FACTOR = 1.35;

/**
 * The profile's id names the provider, because the same model at another provider must not get this provider's items.
 * Without a known wire format, new versions of a context are checked by the rules of every format.
 */
function readProfile(
  { provider, modelId }: AiSdkLanguageModel,
  { profile = {}, catalogue }: AiSdkModelOptions,
): ModelProfile {
  const { windowTokens, outputCapTokens } = profile;
  const isComplete = windowTokens !== undefined && outputCapTokens !== undefined;
  const [maker = ''] = provider.split('.');
  const base = isComplete
    ? { encoding: 'o200k_base' as const, upperBoundFactor: UNKNOWN_FACTOR, windowTokens, outputCapTokens }
    : findProfile(maker, modelId, catalogue);
  const merged = { ...base, ...profile, id: `${provider}/${modelId}` };
  // Packages enforce answer schemas in different ways, so the system prompt asks for the schema.
  return { ...merged, abilities: { ...merged.abilities, structured: false } };
}

async function answerRequest(caller: Caller, request: WatchedRequest): Promise<ModelAnswer> {
  const { model, profile } = caller;
  const wire = toWireRequest(request, profile);
  const prompt = await eventLoopShare.run(
    writePromptInSlices(wire, {
      specification: model.specificationVersion,
      traits: caller.traits,
      habits: caller.habits.current,
      supportedUrls: await model.supportedUrls,
      hasCacheMarks: caller.options.hasCacheMarks !== false,
    }),
  );
  const body = writeBody(caller, request, prompt, wire.maxOutputTokens);
  const describe = (refusal: string): string => outlineRequest({ messages: body.prompt, tools: body.tools }, refusal);
  checkBody(body, profile, describe);
  const { signal, version } = request;
  const { headers } = callOptions(request, body);
  const sent = { ...body, abortSignal: signal, headers: { ...headers, ...body.headers } };
  let nextCallAt: number | undefined;
  const readHeaders = (received: Readonly<Record<string, string>> = {}): void => {
    nextCallAt = readNextCallAt(new Headers(received), Date.now());
  };
  const parts = streamEvents(
    () => openStream(model, sent, readHeaders),
    request,
    (error) => classifyAiSdkError(error, { signal, describe }),
  );
  const { usage, ...answer } = await readAnswerStream(parts, pieceListeners(request));
  const prefix = caller.traits.bindsThinking ? prompt.prefix : undefined;
  return toModelAnswer(answer, { format: 'ai-sdk', id: profile.id }, { version, prefix, nextCallAt }, usage);
}

/** The cast is safe: `writePromptInSlices` wrote the parts in which versions 3 and 4 of the specification differ. */
async function openStream(
  model: AiSdkLanguageModel,
  sent: LanguageModelV4CallOptions,
  readHeaders: (headers: Readonly<Record<string, string>> | undefined) => void,
): Promise<AsyncIterable<LanguageModelV4StreamPart>> {
  const { stream, response } = await (model as LanguageModelV4).doStream(sent);
  readHeaders(response?.headers);
  return readParts(stream);
}

/** Leaves out `stream-start`, which the package sends before the provider's first event, so that silence is noticed. */
async function* readParts(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type !== 'stream-start') yield part;
  }
}

type Body = LanguageModelV4CallOptions & Required<Pick<LanguageModelV4CallOptions, 'tools'>>;

function writeBody(
  { options, traits }: Caller,
  request: ModelRequest,
  { messages, tools, lacks }: AiSdkPrompt,
  maxOutputTokens: number,
): Body {
  const { settings: { toolChoice: usual, ...settings } = {}, providerTools = [] } = options;
  const { toolChoice: chosen } = request;
  const toolChoice = chosen === undefined ? usual : { type: chosen };
  const providerOptions = mergeProviderOptions(traits.defaults, options.providerOptions);
  const described = tools.map(({ name, description, parameters }) => ({
    type: 'function' as const,
    name,
    description,
    inputSchema: { properties: {}, ...parameters, type: 'object' as const },
  }));
  const isChosen = toolChoice !== undefined && tools.length > 0 && holdsFor(nameChoice(toolChoice), request);
  return {
    ...settings,
    prompt: [...messages],
    tools: [...described, ...providerTools],
    ...(isChosen && { toolChoice }),
    ...fitThinking({ providerOptions, maxOutputTokens, ...settings }, traits, {
      lacks,
      isForced: isChosen && isForced(nameChoice(toolChoice)),
    }),
  };
}

function nameChoice(given: NonNullable<AiSdkSettings['toolChoice']>): ToolChoice {
  return given.type === 'tool' ? { tool: given.toolName } : given.type;
}

/**
 * Turns Claude's thinking off if Claude could not answer with thinking (wire rule A7), or must call a tool. The package
 * adds the budget of thinking to the output limit, so the budget is subtracted here.
 */
function fitThinking(
  given: Required<Pick<Body, 'maxOutputTokens' | 'providerOptions'>> & Pick<Body, 'reasoning'>,
  { thinkingOptions: name }: ProviderTraits,
  { lacks, isForced: mustCall }: Pick<AiSdkPrompt, 'lacks'> & { readonly isForced: boolean },
): Pick<Body, 'maxOutputTokens' | 'providerOptions' | 'reasoning'> {
  const { maxOutputTokens, providerOptions, reasoning } = given;
  const kept = { maxOutputTokens, providerOptions, ...(reasoning !== undefined && { reasoning }) };
  if (name === undefined) return kept;
  const thinking = providerOptions[name]?.['thinking'];
  const budget = Number(readSafely(thinking, 'budgetTokens') ?? 0);
  const isOn = thinking !== undefined || reasoning !== undefined;
  // With adaptive thinking, the model may call a tool without thinking.
  const isRefused =
    mustCall || lacks === 'recorded' || (lacks === 'any' && readSafely(thinking, 'type') !== 'adaptive');
  if (isOn && (isRefused || budget >= maxOutputTokens)) {
    const off = mergeProviderOptions(providerOptions, { [name]: { thinking: { type: 'disabled' } } });
    return { maxOutputTokens, providerOptions: off, reasoning: 'none' };
  }
  return { ...kept, maxOutputTokens: maxOutputTokens - budget };
}

function checkBody(
  { prompt, tools }: Body,
  { maxRequestBytes }: ModelProfile,
  describe: (refusal: string) => string,
): void {
  const last = prompt.length - 1;
  if (prompt[last]?.role === 'assistant') {
    const form = describe(`messages[${last}]`);
    throw new ModelError(
      'invalid',
      `the request ends with a message of the assistant (messages[${last}]), which the model cannot answer (wire rule X4)`,
      { code: 'X4', form },
    );
  }
  if (maxRequestBytes === undefined) return;
  const bytes = Buffer.byteLength(JSON.stringify([prompt, tools]));
  if (bytes <= maxRequestBytes) return;
  throw new ModelError('overflow', `the request has ${bytes} bytes, but the limit is ${maxRequestBytes}`, {
    code: 'X9',
  });
}
