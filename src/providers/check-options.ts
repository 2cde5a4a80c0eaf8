import { TurnfoldError } from '../domain/errors.ts';
import type { ModelProfile, ModelRequest } from '../domain/model.ts';
import {
  EFFORTS,
  type Effort,
  type ModelOptions,
  modelOptionsSchema,
  type Thinking,
  type ToolChoice,
} from '../domain/model-options.ts';
import { parseInput } from '../domain/parse.ts';
import type { WireFormat } from '../domain/raw-items.ts';

interface CheckedOptions {
  readonly options: ModelOptions;
  readonly profile: ModelProfile;
}

interface Asked {
  readonly options: ModelOptions;
  readonly profile: ModelProfile;
  readonly format: WireFormat;
}

/**
 * Checks options against the profile, so that a mistake fails at the start, and not a turn later.
 * @throws invalid_config with the field, such as `thinking.type`
 */
export function checkOptions(given: ModelOptions, profile: ModelProfile, format: WireFormat): CheckedOptions {
  const options = parseInput(modelOptionsSchema, given, '', 'invalid_config');
  const asked = { options, profile, format };
  checkFormat(asked);
  if (format === 'anthropic') checkAnthropic(asked);
  else checkOpenAi(asked);
  checkSampling(asked);
  checkToolChoice(asked);
  const { maxOutputTokens = profile.outputCapTokens } = options;
  if (maxOutputTokens > profile.outputCapTokens)
    throw refuse('maxOutputTokens', `${profile.id} writes at most ${profile.outputCapTokens} tokens`);
  return { options, profile: { ...profile, outputCapTokens: maxOutputTokens } };
}

/**
 * Refuses a missing API key at the start. The SDK loads later, so its own refusal would come with the first call.
 * @throws invalid_config
 */
export function checkApiKey(apiKey: unknown): void {
  if (typeof apiKey !== 'string' || apiKey === '')
    throw refuse('apiKey', 'expected an API key. For a server without keys, pass any text');
}

/** `none` turns the reasoning of OpenAI's models off. */
export function effortOf(
  { effort, thinking }: ModelOptions,
  { abilities }: Pick<ModelProfile, 'abilities'>,
): Effort | undefined {
  return effort ?? (thinking?.type === 'off' ? 'none' : abilities?.defaultEffort);
}

export function isMoreEffort(effort: Effort, than: Effort): boolean {
  return EFFORTS.indexOf(effort) > EFFORTS.indexOf(than);
}

type Forced = Exclude<ToolChoice, 'auto' | 'none'>;

export function isForced(choice: ToolChoice): choice is Forced {
  return choice !== 'auto' && choice !== 'none';
}

/**
 * True if the tool choice applies to this request. Only the first answer to a message may be forced: a turn whose every
 * answer must call a tool would never end.
 */
export function holdsFor(choice: ToolChoice, { messages, tools, isSummary }: ModelRequest): boolean {
  if (!isForced(choice)) return true;
  if (isSummary === true) return false;
  const isPresent = choice === 'required' || tools.some(({ name }) => name === choice.tool);
  return isPresent && messages.at(-1)?.role !== 'tool';
}

/** The choice of the turn replaces the option of the model. A summary calls no tool in any case. */
export function pickChoice({ toolChoice, isSummary }: ModelRequest): Pick<ModelOptions, 'toolChoice'> {
  return toolChoice === undefined || isSummary === true ? {} : { toolChoice };
}

function checkFormat({ options, format }: Asked): void {
  const { outputCapField, streamOptions, stop } = options;
  if (format !== 'openai-chat') {
    if (outputCapField !== undefined) throw refuse('outputCapField', 'only openai-chat/… models have this option');
    if (streamOptions !== undefined) throw refuse('streamOptions', 'only openai-chat/… models have this option');
  }
  if (format === 'openai-responses' && stop !== undefined)
    throw refuse('stop', 'the Responses API has no stop texts. Use an openai-chat/… model');
}

function checkAnthropic(asked: Asked): void {
  const { thinking, serviceTier, maxOutputTokens } = asked.options;
  const { profile } = asked;
  if (thinking !== undefined) requireMember('thinking.type', thinking.type, profile.abilities?.thinking, profile);
  if (thinking?.type === 'budget' && thinking.budgetTokens >= (maxOutputTokens ?? profile.outputCapTokens))
    throw refuse('thinking.budgetTokens', 'must be less than the maximum tokens of an answer');
  checkAnthropicEffort(asked);
  if (serviceTier !== undefined && serviceTier !== 'auto' && serviceTier !== 'standard_only')
    throw refuse('serviceTier', 'expected auto or standard_only');
}

function checkAnthropicEffort({ options: { effort, thinking }, profile }: Asked): void {
  const { efforts, maxEffortWithoutThinking: most } = profile.abilities ?? {};
  if (effort === undefined) return;
  if (effort === 'none' || effort === 'minimal')
    throw refuse('effort', `Anthropic's API has no effort ${effort}. Set thinking to turn thinking off`);
  requireMember('effort', effort, efforts, profile);
  const isOff = thinking?.type === 'off' || thinking?.type === 'between_tools';
  if (isOff && most !== undefined && isMoreEffort(effort, most))
    throw refuse('effort', `with thinking ${thinking.type}, ${profile.id} accepts at most ${most}`);
}

function checkOpenAi({ options, profile, format }: Asked): void {
  const { thinking, effort } = options;
  const { efforts, chatTools } = profile.abilities ?? {};
  checkOpenAiThinking(thinking, effort, format);
  if (effort !== undefined) requireMember('effort', effort, efforts, profile);
  if (thinking?.type === 'off' && efforts !== undefined && !efforts.includes('none'))
    throw refuse('thinking.type', `${profile.id} cannot turn reasoning off. It accepts the efforts ${list(efforts)}`);
  if (format === 'openai-chat' && effort === 'max' && chatTools !== undefined)
    throw refuse('effort', `Chat Completions accepts at most xhigh. Use openai/${profile.id}, the Responses API`);
}

function checkOpenAiThinking(thinking: Thinking | undefined, effort: Effort | undefined, format: WireFormat): void {
  if (thinking === undefined) return;
  const { type } = thinking;
  if (type === 'budget' || type === 'between_tools')
    throw refuse('thinking.type', `the API has no thinking of type ${type}. Use off or adaptive, and effort`);
  if (type === 'off' ? effort !== undefined && effort !== 'none' : effort === 'none')
    throw refuse('effort', `${effort} contradicts thinking ${type}. Remove one of them`);
  if (format === 'openai-chat' && type === 'adaptive' && thinking.display !== undefined)
    throw refuse('thinking.display', 'only anthropic/… and openai/… models have this option');
}

/** Some models always refuse `temperature` and `topP`, others while they think. */
function checkSampling({ options, profile, format }: Asked): void {
  const field = options.temperature === undefined ? 'topP' : 'temperature';
  const { sampling = 'always' } = profile.abilities ?? {};
  if (options[field] === undefined || sampling === 'always') return;
  if (sampling === 'never') throw refuse(field, `${profile.id} does not accept it. Remove it`);
  if (format === 'anthropic' ? isThinkingOn(options, profile) : effortOf(options, profile) !== 'none')
    throw refuse(field, `${profile.id} accepts it only while it does not think. Set thinking to {type: 'off'}`);
}

function checkToolChoice({ options, profile, format }: Asked): void {
  const { toolChoice } = options;
  if (toolChoice === undefined || toolChoice === 'auto' || toolChoice === 'none') return;
  if (profile.abilities?.forcedTools === false)
    throw refuse('toolChoice', `${profile.id} refuses a forced tool call. Use auto or none`);
  if (format === 'anthropic' && isThinkingOn(options, profile))
    throw refuse('toolChoice', "a model that thinks cannot be forced to call a tool. Set thinking to {type: 'off'}");
}

function isThinkingOn({ thinking }: ModelOptions, { abilities }: ModelProfile): boolean {
  const type = thinking?.type ?? abilities?.defaultThinking ?? 'off';
  return type === 'adaptive' || type === 'budget';
}

function requireMember<Value extends string>(
  field: string,
  value: Value,
  accepted: readonly Value[] | undefined,
  { id }: ModelProfile,
): void {
  if (accepted === undefined || accepted.includes(value)) return;
  const accepts = accepted.length === 0 ? 'It has no such option' : `It accepts ${list(accepted)}`;
  throw refuse(field, `${id} does not accept ${value}. ${accepts}`);
}

function list(values: readonly string[]): string {
  return values.join(', ');
}

function refuse(field: string, why: string): TurnfoldError {
  return new TurnfoldError('invalid_config', `${field}: ${why}`, { field });
}
