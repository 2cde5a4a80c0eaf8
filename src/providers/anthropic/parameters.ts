import type Anthropic from '@anthropic-ai/sdk';
import type { ModelProfile, ModelRequest } from '../../domain/model.ts';
import type { Effort, ModelAbilities, ModelOptions, Thinking, ToolChoice } from '../../domain/model-options.ts';
import type { AnthropicBody, AnthropicThinking } from '../../wire/anthropic/body.ts';
import type { AnthropicOptions } from '../../wire/anthropic/render.ts';
import { holdsFor, isForced, isMoreEffort, pickChoice } from '../check-options.ts';

/** The renderer decides for each request whether the model may think. */
export function renderOptionsOf({ thinking }: ModelOptions, { abilities }: ModelProfile): AnthropicOptions {
  const written = thinking === undefined ? undefined : writeThinking(thinking, abilities);
  const off = howToTurnOff(abilities);
  return { ...(written === undefined ? {} : { thinking: written }), ...(off === 'omit' ? {} : { off }) };
}

function writeThinking(thinking: Thinking, abilities: ModelAbilities | undefined): AnthropicThinking | undefined {
  switch (thinking.type) {
    case 'off':
      return abilities?.defaultThinking === 'off' ? undefined : { type: 'disabled' };
    case 'budget': {
      const { budgetTokens, display } = thinking;
      return { type: 'enabled', budget_tokens: budgetTokens, ...(display && { display }) };
    }
    case 'adaptive':
      return { type: 'adaptive', ...(thinking.display && { display: thinking.display }) };
    case 'between_tools':
      return { type: 'between_tools' };
  }
}

function howToTurnOff({ defaultThinking, thinking = [] }: ModelAbilities = {}): NonNullable<AnthropicOptions['off']> {
  if (defaultThinking !== 'adaptive') return 'omit';
  if (thinking.includes('off')) return 'disabled';
  return thinking.includes('between_tools') ? 'between_tools' : 'never';
}

/** A model that always thinks keeps its thinking. */
export function turnThinkingOff(options: AnthropicOptions): AnthropicOptions {
  const { thinking: _, ...kept } = options;
  const { off = 'omit' } = options;
  if (off === 'never') return options;
  return off === 'omit' ? kept : { ...kept, thinking: { type: off } };
}

type Parameters = Partial<
  Pick<Anthropic.MessageCreateParams, 'stop_sequences' | 'output_config' | 'tool_choice' | 'service_tier'>
> & {
  // Newer models refuse these two fields, so the SDK's types leave them out.
  readonly temperature?: number;
  readonly top_p?: number;
};

/** Writes the fields of the model's options, besides thinking and the output limit. */
export function writeParameters(
  options: ModelOptions,
  { abilities }: ModelProfile,
  { thinking, tools }: AnthropicBody,
  request: ModelRequest,
): Parameters {
  const { effort, temperature, topP, stop, serviceTier, extraBody } = options;
  const { toolChoice: choice } = tools === undefined ? {} : { ...options, ...pickChoice(request) };
  const most = abilities?.maxEffortWithoutThinking;
  const format = abilities?.structured === true ? request.answerSchema : undefined;
  const config = {
    ...(effort !== undefined && { effort: fitEffort(effort, isThinkingOff(thinking) ? most : undefined) }),
    ...(format !== undefined && { format: { type: 'json_schema' as const, schema: { ...format.schema } } }),
  };
  return {
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop_sequences: stop }),
    ...(choice !== undefined && holdsFor(choice, request) && { tool_choice: writeChoice(choice) }),
    ...(serviceTier !== undefined && { service_tier: serviceTier as NonNullable<Parameters['service_tier']> }),
    ...extraBody,
  };
}

function isThinkingOff(thinking: AnthropicThinking | undefined): boolean {
  return thinking?.type === 'disabled' || thinking?.type === 'between_tools';
}

type SentEffort = NonNullable<Anthropic.OutputConfig['effort']>;

/** The cast is safe: `checkOptions` has refused efforts that Anthropic's API does not have. */
function fitEffort(effort: Effort, most: Effort | undefined): SentEffort {
  return (most !== undefined && isMoreEffort(effort, most) ? most : effort) as SentEffort;
}

function writeChoice(choice: ToolChoice): Anthropic.ToolChoice {
  if (isForced(choice)) return choice === 'required' ? { type: 'any' } : { type: 'tool', name: choice.tool };
  return { type: choice };
}
