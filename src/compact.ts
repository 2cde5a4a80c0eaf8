/**
 * `turnfold/compact`: compaction of messages in a loop of the caller's own, without Redis, workers and models.
 */

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
} from './compact/adapters.ts';
export {
  type CompactedMessages,
  type CompactedRange,
  type CompactReport,
  compactMessages,
} from './compact/compact-messages.ts';
export type { MessageFormat } from './compact/kinds/kind.ts';
export type { CompactionOptions, CompactMessagesOptions, SummarizeRequest } from './compact/options.ts';
export type { CompactState } from './compact/state.ts';
