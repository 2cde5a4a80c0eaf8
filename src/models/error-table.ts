import type { ModelErrorKind } from '../domain/model.ts';

/** A way in which providers fail. A failure matches a row by name, status or text. */
export interface ErrorRow {
  readonly kind: ModelErrorKind;
  /** Description for people. */
  readonly words: string;
  /** Error codes or types. */
  readonly types?: readonly string[];
  readonly statuses?: readonly number[];
  /** Patterns of the provider's message. */
  readonly texts?: readonly RegExp[];
  /** Only thinking was refused: the same request may be accepted without it. */
  readonly isOfThinking?: true;
}

/**
 * Errors of the providers and what each means for a turn. `findRow` of `provider-errors.ts` matches a failure in this
 * order:
 * 1. The code, otherwise the type, except the broad `invalid_request_error`.
 * 2. The status, except 400, 404 and 422, which say little.
 * 3. The text, and then one of those three statuses.
 *
 * The first matching row wins. A rate limit is therefore never an overflow, even if its text says "too many tokens".
 */
export const ERROR_TABLE: readonly ErrorRow[] = [
  {
    kind: 'overflow',
    words: 'the request is larger than the window',
    // OpenAI, llama.cpp, Copilot, GitHub Models, GLM
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
      // OpenAI: 2,048 messages, 10 MB of text. Matched by place, not by code: a long id is a malformed request.
      /Invalid '(?:messages|input)(?:\[\d+\][^']*\.(?:content|output|text|arguments)(?:\[\d+\])?)?': (?:array|string) too long/,
      /maximum (?:context|prompt) length/i, // OpenAI, Mistral, DeepSeek, xAI
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
    words: 'rate limited',
    // Anthropic, OpenAI, Bedrock
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
    words: 'the API key was not accepted',
    types: ['authentication_error', 'invalid_api_key'],
    statuses: [401],
    texts: [/API key not valid/i], // Gemini
  },
  { kind: 'fatal', words: 'the model does not exist', types: ['not_found_error', 'model_not_found'], statuses: [404] },
  {
    kind: 'fatal',
    words: 'the API key lacks permission',
    types: ['permission_error', 'data_residency_mismatch'],
    statuses: [403],
  },
  {
    kind: 'fatal',
    words: 'the provider declined the contents',
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
    words: 'the provider could not read a picture',
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
    // The agent's settings are wrong. Rolling back to another version would not help.
    kind: 'fatal',
    words: 'the model does not support a setting',
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
    words: 'the thinking sent back was refused',
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
    words: 'the request is malformed',
    statuses: [400, 422],
    texts: [/Item with id '[^']{0,80}' not found/], // OpenAI Responses: 404
  },
];
