/**
 * `turnfold/ai-sdk`: models and tools of the Vercel AI SDK. Needs the packages `@ai-sdk/provider` and, for tools,
 * `@ai-sdk/provider-utils`, which every package of a provider brings.
 */
export type { Tool, ToolContext } from './domain/agent.ts';
export type { GatedAnswer, GatedModel, GatedRequest, GateSettings, ModelGate } from './domain/gate.ts';
export type { ModelWindow } from './domain/limits.ts';
export type { Message, ToolCall } from './domain/message.ts';
export type {
  Model,
  ModelAnswer,
  ModelCompaction,
  ModelErrorKind,
  ModelPrices,
  ModelProfile,
  ModelRequest,
  ModelUsage,
  PictureFormula,
  PriceStep,
  ToolCallPiece,
  ToolDescription,
} from './domain/model.ts';
export type { Effort, ModelAbilities, ThinkingType } from './domain/model-options.ts';
export type { CacheTtl } from './domain/policy.ts';
export type { ProviderHabits } from './domain/provider-habits.ts';
export type { ProviderSchema } from './domain/provider-schema.ts';
export type { WireFormat } from './domain/raw-items.ts';
export type { ToolProgress } from './domain/tool-notes.ts';
export type { TurnContext } from './domain/turn-context.ts';
export type { TurnToolChoice } from './domain/turn-own.ts';
export {
  type AiSdkLanguageModel,
  type AiSdkModelOptions,
  type AiSdkSettings,
  aiSdkModel,
} from './providers/ai-sdk/ai-sdk-model.ts';
export type { ProviderOptions } from './providers/ai-sdk/provider-traits.ts';
export type { Catalogue } from './providers/catalogue/catalogue.ts';
export { type AiSdkToolOptions, aiSdkTools } from './providers/tools/ai-sdk-tools.ts';
