/**
 * `turnfold/compact`: compaction of messages in a loop of the caller's own, without Redis, workers and models.
 */

export type { ModelWindow } from './domain/limits.ts';
export type { Message, ToolCall } from './domain/message.ts';
export type { Reason } from './domain/pass.ts';
export type { PolicyInput } from './domain/policy.ts';
export {
  type AgentsModelData,
  type AgentsSession,
  type AiSdkCall,
  type AiSdkMiddleware,
  type AiSdkStep,
  aiSdkMiddleware,
  aiSdkPrepareStep,
  type LangchainMiddleware,
  type LangchainRequest,
  langchainMiddleware,
  type MastraProcessor,
  mastraProcessor,
  openaiAgentsFilter,
  openaiAgentsSession,
} from './evaluation/compact/adapters.ts';
export { compactMessages } from './evaluation/compact/compact-messages.ts';
export type {
  CompactedMessages,
  CompactedRange,
  CompactionStep,
  CompactReport,
} from './evaluation/compact/compacted-messages.ts';
export type { MessageFormat } from './evaluation/compact/kinds/kind.ts';
export type { CompactionOptions, CompactMessagesOptions, SummarizeRequest } from './evaluation/compact/options.ts';
export type { CompactState } from './evaluation/compact/state.ts';
export type { HistoryNote } from './wire/histories/notes.ts';
