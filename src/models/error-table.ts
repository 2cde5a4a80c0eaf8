import type { ModelErrorKind } from '../domain/model.ts';

/** A way in which providers fail. A failure is of a row by one of three signs. */
export interface ErrorRow {
  readonly kind: ModelErrorKind;
  /** what a person reads */
  readonly words: string;
  /** its code, or its type */
  readonly types?: readonly string[];
  readonly statuses?: readonly number[];
  /** in the provider's message */
  readonly texts?: readonly RegExp[];
  /** it is of thinking alone: without any, the same request may be taken */
  readonly isOfThinking?: true;
}

/**
 * Real errors of the providers and what each means for a turn. Which row it is, `findRow` of `provider-errors.ts` decides:
 *
 * 1. by the code, else by the type, unless that is the broad `invalid_request_error`;
 * 2. by the status, unless that is 400, 404 or 422, which say little;
 * 3. by the text; else by such a status after all.
 *
 * Where several rows match by the same sign, the first counts. So a rate limit is never an overflow, whatever its text says of
 * "too many tokens".
 */
export const ERROR_TABLE: readonly ErrorRow[] = [
  {
    kind: 'overflow',
    words: 'the request is larger than the window',
    // OpenAI; llama.cpp; Copilot, GitHub Models; GLM
    types: [
      'context_length_exceeded',
      'exceed_context_size_error',
      'model_max_prompt_tokens_exceeded',
      'tokens_limit_reached',
      '1261',
    ],
    texts: [
      /prompt is too long/i, // Anthropic
      /exceeds? (?:the |this |your )?(?:model's |available )?context (?:window|limit|length|size)/i, // Anthropic, llama.cpp
      // OpenAI: 2,048 messages, 10 MB of text. By the place and not by the code: an id that is too long is bad form
      /Invalid '(?:messages|input)(?:\[\d+\][^']*\.(?:content|output|text|arguments)(?:\[\d+\])?)?': (?:array|string) too long/,
      /maximum (?:context|prompt) length/i, // OpenAI, Mistral, DeepSeek; xAI
      /context window of this model/i, // OpenAI Responses
      /model's context length is only/i, // vLLM
      /reduce the length of the (?:messages|input|prompt)/i, // Groq, Cerebras
      /input token count .{0,40}exceeds the maximum/i, // Gemini
      /input is too long/i, // Bedrock
      /too many total text bytes/i, // Bedrock
      /exceeded model token limit/i, // Moonshot
      /context window exceeds limit/i, // MiniMax
      /range of input length should be/i, // DashScope
      /prompt exceeds max length/i, // GLM
      /`inputs` tokens \+ `max_new_tokens` must be <=/i, // Together, TGI
      /too many tokens: total number/i, // Cohere
      /loaded with context length of only/i, // LM Studio
    ],
  },
  { kind: 'overflow', words: 'the request has too many bytes', types: ['request_too_large'], statuses: [413] },
  {
    kind: 'fatal',
    words: 'the account has no credit left',
    types: ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached', 'billing_not_active'],
    statuses: [402],
    texts: [
      /credit balance is too low/i, // Anthropic
      /reached your specified API usage limits/i, // Anthropic
      /exceeded your current quota/i, // OpenAI
    ],
  },
  {
    kind: 'retry',
    words: 'a rate limit',
    // Anthropic; OpenAI; Bedrock
    types: ['rate_limit_error', 'rate_limit_exceeded', 'tokens', 'requests', 'ThrottlingException'],
    statuses: [429],
  },
  {
    kind: 'retry',
    words: 'the provider is overloaded',
    types: ['overloaded_error', 'slow_down', 'engine_overloaded'],
    statuses: [529, 503],
  },
  {
    kind: 'fatal',
    words: 'the key is not accepted',
    types: ['authentication_error', 'invalid_api_key'],
    statuses: [401],
    texts: [/API key not valid/i], // Gemini
  },
  { kind: 'fatal', words: 'no such model', types: ['not_found_error', 'model_not_found'], statuses: [404] },
  {
    kind: 'fatal',
    words: 'the key may not do this',
    types: ['permission_error', 'data_residency_mismatch'],
    statuses: [403],
  },
  {
    kind: 'fatal',
    words: 'the provider declines the contents',
    types: [
      'invalid_prompt',
      'content_filter',
      'content_policy_violation',
      'image_content_policy_violation',
      'misalignment_policy_violation',
      'bio_policy',
    ],
    texts: [/output blocked by content filtering policy/i], // Anthropic
  },
  {
    kind: 'fatal',
    words: 'the provider cannot read a picture',
    types: [
      'invalid_image',
      'invalid_image_format',
      'invalid_image_mode',
      'invalid_image_url',
      'invalid_base64_image',
      'image_parse_error',
      'image_too_large',
      'image_too_small',
      'image_file_too_large',
      'empty_image_file',
      'image_file_not_found',
      'failed_to_download_image',
      'unsupported_image_media_type',
    ],
    // Anthropic
    texts: [
      /image exceeds .{0,20} maximum/i,
      /could not process image/i,
      /image dimensions exceed/i,
      /unable to download the file/i,
    ],
  },
  {
    // What is wrong is the agent's setting: no other version of the context would mend it.
    kind: 'fatal',
    words: 'the model does not take a setting',
    types: ['unsupported_parameter', 'unsupported_value', 'invalid_function_parameters'],
    texts: [
      /^tools\.\d+\./, // Anthropic
      /maximum allowed number of output tokens/i, // Anthropic
      /is not supported (?:for|by|with) this model/i, // Anthropic, OpenAI
      /max_(?:completion_)?tokens is too large/i, // OpenAI
      /Invalid '(?:tools|instructions)\b[^']*': (?:array|string) too long/, // OpenAI
    ],
  },
  {
    kind: 'retry',
    words: 'the provider failed',
    types: [
      'api_error',
      'server_error',
      'timeout_error',
      'internal_server_error',
      'conflict_error',
      'vector_store_timeout',
    ],
    statuses: [408, 409, 425, 499, 500, 502, 504],
  },
  {
    kind: 'invalid',
    words: 'the thinking that is sent back',
    types: ['invalid_encrypted_content'], // OpenAI Responses
    texts: [
      /Invalid `signature` in `(?:redacted_)?thinking` block/, // Anthropic
      /`redacted_thinking` blocks in the latest assistant message cannot be modified/, // Anthropic
      /Item with id 'rs_[^']{0,80}' not found/, // OpenAI Responses: 404
    ],
    isOfThinking: true,
  },
  {
    kind: 'invalid',
    words: 'the form of the request',
    statuses: [400, 422],
    texts: [/Item with id '[^']{0,80}' not found/], // OpenAI Responses: 404
  },
];
