export type { Scope } from '../../domain/access-key.ts';
export type { DatabaseLoss } from '../../domain/database-loss.ts';
export type { GatedAnswer, GatedModel, GatedRequest, GateSettings, ModelGate } from '../../domain/gate.ts';
export type { RawItems } from '../../domain/raw-items.ts';
export type { PlanningPolicy } from '../../domain/request-facts.ts';
export type {
  CachedPrefix,
  EarlierSummary,
  Summarizer,
  SummaryAnswer,
  SummaryCall,
  SummaryParts,
  SummaryRequest,
} from '../../domain/summarizer.ts';
export type { WebhookEndEvent, WebhookEvent } from '../../domain/webhook.ts';
export type { CancelOptions } from '../contract/names.ts';
export type { RouteError } from '../contract/operation.ts';
export type { AccessOptions } from './access.ts';
export { type AgUiOptions, agUiApp } from './ag-ui/ag-ui-app.ts';
export type { OnAbort } from './ag-ui/open-runs.ts';
export { type AiSdkOptions, aiSdkApp } from './ai-sdk/ai-sdk-app.ts';
export type { SdkVersion } from './ai-sdk/chunks.ts';
export type { WhileWaiting } from './ai-sdk/while-waiting.ts';
export { createHttpApp } from './app.ts';
export type {
  AnswerError,
  AnsweredRequest,
  HeldContext,
  HttpApp,
  HttpAppOptions,
  HttpLimits,
  MountedProtocol,
  ProtocolRoute,
  ServedClient,
  ServerFacts,
} from './app-options.ts';
export { type Authenticate, authenticateByKey, type Caller } from './caller.ts';
export { type CompactOptions, type CompactServices, compactApp } from './compact/compact-app.ts';
export type { Connection, StreamLimits } from './event-stream.ts';
export type { BackendOptions, FrontEndOptions } from './front-end/backend.ts';
export type { Authorize, ConversationInQuestion } from './guarded-client.ts';
export { openAiApp } from './openai/openai-app.ts';
export { type HttpCode, HttpProblem, type Problem, type ProblemContext } from './problem.ts';
export { createProtocols, type ProtocolOptions } from './protocols.ts';
export type { Readers } from './readers.ts';
export type { BodyLimits } from './request-body.ts';
export { responsesApp } from './responses/responses-app.ts';
export { createNodeListener, type NodeListener } from './serve-http.ts';
export type { ContextFor, FindContext } from './turn-contexts.ts';
