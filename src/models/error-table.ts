import type { ModelErrorKind } from '../domain/model.ts';

/**
 * A kind of provider error. A failed request matches a row by error code or type, by HTTP status, or by the text of the
 * provider's message.
 */
export interface ErrorRow {
  readonly kind: ModelErrorKind;
  /** Description for people, which becomes the error message. */
  readonly words: string;
  /** Error codes or types by which providers report this kind of error. */
  readonly types?: readonly string[];
  readonly statuses?: readonly number[];
  /** Patterns of the error messages by which providers report this kind of error. */
  readonly texts?: readonly RegExp[];
  /**
   * True if the provider refused only the thinking in the request. The provider may accept the same request without its
   * thinking.
   */
  readonly isOfThinking?: true;
}

/**
 * Errors of the providers, and what each error means for a turn. `findRow` in `provider-errors.ts` compares a failed
 * request with this table in this order:
 * 1. By error code, otherwise by error type, except the unspecific `invalid_request_error`.
 * 2. By HTTP status, except 400, 404 and 422, which are unspecific.
 * 3. By the provider's message, and then by one of those three statuses.
 * | The first matching row is used. A rate limit is therefore never mistaken for an overflow, even if its message says
 * "too many tokens".
 */
export const ERROR_TABLE: readonly ErrorRow[] = [
  {
    kind: 'overflow',
    words: "the request is larger than the model's context window",
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
      // OpenAI's limits: 2,048 messages, 10 MB of text. The field is matched, and not the error code, because the same
      // code for a long id means a malformed request.
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
  {
    kind: 'overflow',
    words: 'the request has more bytes than the provider accepts',
    types: ['request_too_large'],
    statuses: [413],
    texts: [/request payload size exceeds the limit/i], // Gemini
  },
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
    texts: [
      /image exceeds .{0,20} maximum/i,
      /could not process image/i,
      /image dimensions exceed/i,
      /unable to download the file/i,
    ],
  },
  {
    // The agent's settings are wrong, so rolling back to an earlier version of the context would not help.
    kind: 'fatal',
    words: 'the model does not support a setting of the request',
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
    words: 'the provider had an internal error',
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
    words: 'the provider refused its own earlier thinking',
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
