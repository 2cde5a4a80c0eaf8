export { type Agent, defineTool, type Tool, type ToolContext, type ToolOutput } from './domain/agent.ts';
export type { ContentEvent, ContentListener } from './domain/contents.ts';
export { type ErrorCode, isTurnfoldError, TurnfoldError } from './domain/errors.ts';
export type { EventListener, WorkerEvent } from './domain/events.ts';
export type { ModelWindow } from './domain/limits.ts';
export type { Message, ToolCall } from './domain/message.ts';
export {
  type Model,
  type ModelAnswer,
  type ModelCompaction,
  ModelError,
  type ModelErrorKind,
  type ModelPrices,
  type ModelProfile,
  type ModelRequest,
  type ModelUsage,
  type ToolDescription,
} from './domain/model.ts';
export type { Policy, PolicyInput } from './domain/policy.ts';
export type { ReadPolicy } from './domain/policy-input.ts';
export type { WireFormat } from './domain/raw-items.ts';
export type { RedisTls } from './domain/redis-tls.ts';
export { type AnthropicModelOptions, anthropicModel } from './models/anthropic/anthropic-model.ts';
export { type Catalogue, extendCatalogue, findProfile } from './models/catalogue.ts';
export { modelChain } from './models/chain.ts';
export { type ChatModelOptions, chatModel } from './models/openai/chat-model.ts';
export { type ResponsesModelOptions, responsesModel } from './models/openai/responses-model.ts';
export { SCRIPTED_PROFILE, scriptedModel } from './models/scripted.ts';
export { parsePolicy } from './runtime/policy-text.ts';
export { type ResolveOptions, resolveModel } from './runtime/resolve-model.ts';
export { ROLES, type Role, startWorkers, type Workers, type WorkersOptions } from './runtime/start-workers.ts';
export { createLogger, type LoggerOptions, logContents, logEvents } from './telemetry/logs.ts';
