/** Names by OpenTelemetry's conventions for generative AI, which may still change. A change touches only this file. */
export const SPAN_NAMES = {
  turn: 'invoke_agent',
  model_call: 'chat',
  tool_call: 'execute_tool',
  pass: 'turnfold.pass',
  summary: 'turnfold.summarization',
} as const;

export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  /** Set only if true, because the convention has no false. */
  isCompacted: 'gen_ai.conversation.compacted',
  agent: 'gen_ai.agent.name',
  requestModel: 'gen_ai.request.model',
  maxOutputTokens: 'gen_ai.request.max_tokens',
  responseModel: 'gen_ai.response.model',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  /** Time in seconds. */
  timeToFirstText: 'gen_ai.response.time_to_first_chunk',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCall: 'gen_ai.tool.call.id',
} as const;

/** Names of attributes with texts, which are sent only if the operator allowed texts in traces. */
export const GEN_AI_CONTENTS = {
  system: 'gen_ai.system_instructions',
  input: 'gen_ai.input.messages',
  output: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
} as const;

export const ERROR_TYPE = 'error.type';

/** Names that OpenTelemetry does not define. Sizes are in tokens. */
export const TURNFOLD = {
  tenant: 'turnfold.tenant',
  turn: 'turnfold.turn.id',
  pass: 'turnfold.pass.id',
  attempt: 'turnfold.attempt',
  outcome: 'turnfold.outcome',
  waitsFor: 'turnfold.waits_for',
  requestTokens: 'turnfold.request.tokens',
  purpose: 'turnfold.request.purpose',
  reasons: 'turnfold.pass.reasons',
  strategy: 'turnfold.pass.strategy',
  version: 'turnfold.pass.version',
  tokensBefore: 'turnfold.pass.tokens_before',
  tokensAfter: 'turnfold.pass.tokens_after',
  archived: 'turnfold.pass.archived_messages',
  sequences: 'turnfold.pass.sequences',
  jobs: 'turnfold.pass.jobs',
  sourceTokens: 'turnfold.summary.source_tokens',
  summaryTokens: 'turnfold.summary.tokens',
} as const;

export const SPAN_EVENTS = {
  passRequested: 'turnfold.pass_requested',
  versionRefused: 'turnfold.version_refused',
  modelPassedOver: 'turnfold.model_passed_over',
} as const;

/** By wire format. */
export const PROVIDERS = { anthropic: 'anthropic', 'openai-chat': 'openai', 'openai-responses': 'openai' } as const;
export const OTHER_PROVIDER = '_OTHER';
