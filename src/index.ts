export {
  type Agent,
  defineAgent,
  defineTool,
  type LoadContext,
  type OnCancel,
  type OutputPart,
  type SafetyIdentifier,
  type SystemFunction,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from './domain/agent.ts';
export type { ContentEvent, ContentListener } from './domain/contents.ts';
export type { DatabaseLoss } from './domain/database-loss.ts';
export { type ErrorCode, type ErrorContext, isTurnfoldError, TurnfoldError } from './domain/errors.ts';
export type {
  DeferredWrite,
  EventListener,
  EventScope,
  InboxDelivery,
  ModelOutcome,
  SuspectEvent,
  SuspectOutcome,
  ToolOutcome,
  WorkerEvent,
} from './domain/events.ts';
export type { EvictionStrategy } from './domain/eviction-strategy.ts';
export type { AnswerSchema } from './domain/final-answer.ts';
export type { GatedAnswer, GatedModel, GatedRequest, GateSettings, ModelGate } from './domain/gate.ts';
export type { NamedConversation } from './domain/ids.ts';
export type { ModelWindow } from './domain/limits.ts';
export type { PackedLog } from './domain/log-packing.ts';
export type { LeaveCause, Message, Role as MessageRole, ToolCall } from './domain/message.ts';
export type { PictureFormula } from './domain/model.ts';
export {
  isModelError,
  type Model,
  type ModelAnswer,
  type ModelCompaction,
  ModelError,
  type ModelErrorKind,
  type ModelErrorOptions,
  type ModelPrices,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
  type PriceStep,
  type ToolCallPiece,
  type ToolDescription,
} from './domain/model.ts';
export type {
  Effort,
  ModelAbilities,
  ModelOptions,
  Thinking,
  ThinkingType,
  ToolChoice,
} from './domain/model-options.ts';
export type { ContentReference } from './domain/parts.ts';
export type { PassOutcome, Reason } from './domain/pass.ts';
export type { BackoffCause, PassEvent, PassFallback, PassMeasure, SummaryOutcome } from './domain/pass-events.ts';
export type { CacheTtl, Policy, PolicyInput } from './domain/policy.ts';
export type { ReadPolicy } from './domain/policy-input.ts';
export type { ApprovalRefusal } from './domain/proposal.ts';
export type { IgnoredCount } from './domain/provider-count.ts';
export type { ProviderHabits } from './domain/provider-habits.ts';
export type { ProviderSchema } from './domain/provider-schema.ts';
export type { QuarantineEntry, QuarantineSet } from './domain/quarantine.ts';
export type { WireFormat } from './domain/raw-items.ts';
export type { ToolData, ToolProgress } from './domain/tool-notes.ts';
export type { WaitKind } from './domain/turn.ts';
export type { TurnContext } from './domain/turn-context.ts';
export type { Accepts, TurnToolChoice } from './domain/turn-own.ts';
export type { WebhookEndEvent, WebhookEvent, WebhookEventName } from './domain/webhook.ts';
export type { ProviderSetting, ProviderSettings } from './host/config.ts';
export type { ListenerOptions } from './host/listeners.ts';
export { parsePolicy } from './host/policy-text.ts';
export { type ResolveOptions, resolveModel } from './host/resolve-model.ts';
export { ROLES, startWorkers, type WorkerRole, type Workers, type WorkersOptions } from './host/start-workers.ts';
export type { Delays } from './providers/answer-stream.ts';
export {
  type AnthropicModelOptions,
  anthropicModel,
} from './providers/anthropic/anthropic-model.ts';
export type { AnthropicConnection } from './providers/anthropic/client.ts';
export { type Catalogue, extendCatalogue, findProfile } from './providers/catalogue/catalogue.ts';
export { type ChainOptions, modelChain } from './providers/chain.ts';
export { type ChatModelOptions, chatModel, type ServerOptions } from './providers/openai/chat-model.ts';
export type { OpenAiOptions } from './providers/openai/client.ts';
export { type ResponsesModelOptions, responsesModel } from './providers/openai/responses-model.ts';
export {
  SCRIPTED_PROFILE,
  type ScriptedAnswer,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedOutcome,
  type ScriptedStep,
  scriptedModel,
} from './providers/scripted.ts';
export type { RedisTls } from './store/redis/address.ts';
export { createLogger, type LoggerOptions, logContents, logEvents } from './telemetry/logs.ts';
