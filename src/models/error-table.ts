import type { ModelErrorKind } from '../domain/model.ts';
import type { TeachingError } from './refused-form.ts';

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
  /** Patterns that are more specific than the error's code and status. */
  readonly decidingTexts?: readonly RegExp[];
  /** The form in which the provider may accept the same request. */
  readonly lesson?: TeachingError['lesson'];
}

/**
 * Errors of the providers, and what each error means for a turn. `findRow` in `provider-errors.ts` compares a failed
 * request with this table in this order:
 * 1. By `decidingTexts`.
 * 2. By error code, otherwise by error type, except unspecific types such as `invalid_request_error`.
 * 3. By HTTP status, except unspecific ones such as 400 and 500.
 * 4. By `texts`, and then by those types and statuses.
 * | The first matching row is used. A rate limit is therefore not mistaken for an overflow, even if its message says
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
      'model_context_window_exceeded',
      'tokens_limit_reached',
      '1261', // z.ai
    ],
    decidingTexts: [
      // OpenAI and Groq: one request above the limit of a minute. Waiting would not help.
      /request too large .{0,400}(?<!output )tokens per min/is,
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
      /cannot truncate prompt with n_keep/i, // LM Studio
      /greater than the context length/i, // LM Studio
      /reached context length of/i, // LM Studio
      /context (?:size|length|window) (?:has been |was )?exceeded/i, // LM Studio, llama.cpp
      /prompt (?:is )?too long/i, // Ollama, z.ai
      /prompt 超长/, // z.ai
      /longer than the (?:model'?s context length|maximum model length)/i, // SGLang, Together, Novita, vLLM
      /exceeds? (?:the )?maximum (?:allowed )?input length/i, // SGLang, DeepInfra
      /max_(?:completion_)?tokens must be at least 1, got -/i, // vLLM: the prompt fills the window
      /exceeded this model context window limit/i, // Cloudflare
      /\b(?:model_)?context_(?:length|window)_exceeded\b|ContextWindowExceeded/, // gateways: the code of the provider
      /number of input tokens exceeds maximum length/i, // Bedrock
      /tokens in request more than max tokens allowed/i,
      /(?:exceeds|has exceed) (?:the )?(?:context limit|configured limit of \d+ tokens)/i, // Azure, Bedrock
      /configured context size is [\d,]+ tokens/i,
      /inputs must have less than \d+ tokens/i, // TGI
      /total message size \d+ exceeds limit/i, // Moonshot
      /max size: \d+ tokens/i, // GitHub Models
      /model_max_prompt_tokens_exceeded/,
    ],
  },
  {
    kind: 'overflow',
    words: 'the request has more bytes than the provider accepts',
    types: ['request_too_large'],
    statuses: [413],
    texts: [/request entity too large/i, /payload too large/i],
  },
  {
    kind: 'overflow',
    words: 'the request has more or larger pictures than the provider accepts',
    types: ['image_too_large', 'image_file_too_large'],
    decidingTexts: [
      /too many images/i, // Anthropic, Copilot, New API
      /too much media/i, // Anthropic
      /at most \d+ image/i, // vLLM
      /exceeding the maximum of \d+ (?:images )?allowed/i,
      /maximum (?:number|amount) of images/i,
      /image dimensions exceed/i, // Anthropic: also "many-image requests"
      /many-image requests/i,
      /image exceeds .{0,20} maximum/i, // Anthropic
      /image (?:is too large|size exceeds|too large)/i,
    ],
  },
  {
    kind: 'fatal',
    words: 'the account has no credit left',
    types: [
      'insufficient_quota',
      'billing_error',
      'billing_hard_limit_reached',
      'billing_not_active',
      'credit_balance_exhausted',
      'exceeded_current_quota_error', // Moonshot
      'Arrearage', // DashScope
      '1113', // z.ai
    ],
    statuses: [402],
    decidingTexts: [/insufficient (?:account )?balance/i, /daily free allocation/i], // DeepSeek, z.ai, Cloudflare
    texts: [
      /credit balance is too low/i, // Anthropic
      /reached your specified API usage limits/i, // Anthropic
      /exceeded your current quota/i, // OpenAI
    ],
  },
  {
    kind: 'fatal',
    words: 'the account has reached its spend limit',
    types: [
      'contract_spend_limit_reached',
      'enforced_spend_limit_reached',
      'linked_organization_spend_limit_reached',
      'project_spend_limit_exceeded',
      'organization_spend_limit_exceeded',
      'organization_usage_limit_exceeded',
      'usage_limit_exceeded',
      'session_budget_exceeded',
      'budget_exceeded', // LiteLLM
    ],
    decidingTexts: [/spend(?:ing)? (?:cap|limit)/i, /budget has been exceeded/i], // Gemini, xAI, LiteLLM
  },
  {
    kind: 'fatal',
    words: 'the account is disabled',
    types: [
      'organization_on_hold',
      'organization_type_not_supported',
      'parent_organization_required',
      'linked_organization_billing_unavailable',
      'account_deactivated',
      'org_disabled',
    ],
    decidingTexts: [/organization has been disabled/i],
  },
  {
    kind: 'fatal',
    words: 'the encryption key of the account cannot be used',
    types: ['cmek_key_disabled', 'cmek_key_network_blocked'],
  },
  {
    kind: 'retry',
    words: 'the provider could not read the tool call that the model wrote',
    types: ['tool_use_failed', 'output_parse_failed'], // Groq
    texts: [/failed to call a function/i],
  },
  {
    kind: 'retry',
    words: 'rate limited',
    types: [
      'rate_limit_error',
      'rate_limit_exceeded',
      'rate_limit_reached_error',
      'ramp_limit_exceeded',
      'tokens',
      'requests',
      'ThrottlingException',
    ],
    statuses: [429],
  },
  {
    kind: 'retry',
    words: 'the provider is overloaded',
    types: [
      'overloaded_error',
      'slow_down',
      'engine_overloaded',
      'engine_overloaded_error',
      'server_is_overloaded',
      'cmek_context_unavailable',
      'cmek_key_unreachable',
    ],
    statuses: [529, 503],
  },
  {
    kind: 'fatal',
    words: 'the API key was not accepted',
    types: ['authentication_error', 'invalid_api_key', 'invalid_authentication_error', 'incorrect_api_key_error'],
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
      'data_inspection_failed', // DashScope
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
      'image_too_small',
      'empty_image_file',
      'image_file_not_found',
      'failed_to_download_image',
      'unsupported_image_media_type',
    ],
    texts: [/could not process image/i, /unable to download the file/i],
  },
  {
    // The agent's settings are wrong, so rolling back to an earlier version of the context would not help.
    kind: 'fatal',
    words: 'the model does not support a setting of the request',
    types: [
      'unsupported_parameter',
      'unsupported_value',
      'invalid_function_parameters',
      'tool_name_conflict',
      'available_tools_limit_exceeded',
    ],
    decidingTexts: [
      /tool names must be unique/i, // Anthropic
      /duplicate (?:tool|function)/i, // Gemini and others
      /does ?n[o']t support (?:tools|tool[ _-]?(?:use|calling|calls?)|function)/i, // Ollama
      /no endpoints found that support tool use/i, // OpenRouter
      /function calling is not (?:enabled|supported)/i, // Gemini
      /auto" tool choice requires/i, // vLLM
      /tools param requires --jinja/i, // llama.cpp
      /only supports single tool-calls at once/i,
      /request too large .{0,400}output tokens per min/is, // Groq: the output limit is above the limit of a minute
    ],
    texts: [
      /^tools\.\d+\./, // Anthropic
      /maximum allowed number of output tokens/i, // Anthropic
      /is not supported (?:for|by|with) this model/i, // Anthropic, OpenAI
      /max_(?:completion_)?tokens is too large/i, // OpenAI
      /Invalid '(?:tools|instructions)\b[^']*': (?:array|string) too long/, // OpenAI
      // Unknown fields outside of the messages: OpenAI, Groq, Mistral, Gemini, FastAPI
      /unrecognized request arguments?/i,
      /unknown parameter: '(?!messages|input)/i,
      /^\D{0,8}\d{0,3} ?property '\w+' is unsupported/i,
      /"loc": ?\["body", ?"(?!messages)\w+"/,
      /unknown name "\w+": cannot find field/i,
      /^(?:\d{3} )?\w+: extra inputs are not permitted/im,
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
    words: 'the provider requires the reasoning of earlier answers',
    decidingTexts: [
      /must be passed back to the api/i, // DeepSeek
      /reasoning_content is missing/i, // Moonshot
    ],
    lesson: 'send_reasoning',
  },
  {
    kind: 'invalid',
    words: 'the provider refuses the reasoning of earlier answers',
    decidingTexts: [
      /property '(?:reasoning\w*)' is unsupported/i, // Groq
      /\breasoning(?:_content|_details)?\b.{0,80}(?:extra inputs are not permitted|is not supported|unknown parameter)/i,
      /extra_forbidden.{0,200}"reasoning\w*"/s, // Mistral
      /unknown parameter: 'messages\[\d+\]\.reasoning/i, // OpenAI
      /reasoning is not supported with this model/i,
    ],
    lesson: 'drop_reasoning',
  },
  {
    kind: 'invalid',
    words: 'the provider refused the form of a tool call id',
    decidingTexts: [/must be a-z, A-Z, 0-9, with a length of 9/],
    lesson: 'nine_ids',
  },
  {
    kind: 'invalid',
    words: 'the provider requires a signature on tool calls',
    decidingTexts: [/missing a `?thought_signature/i], // Gemini
    lesson: 'sign_calls',
  },
  {
    kind: 'invalid',
    words: 'the provider refused its own earlier thinking',
    types: ['invalid_encrypted_content'], // OpenAI Responses
    texts: [
      /Invalid `signature` in `(?:redacted_)?thinking` block/, // Anthropic
      /`redacted_thinking` blocks in the latest assistant message cannot be modified/, // Anthropic
      /Item with id 'rs_[^']{0,80}' not found/, // OpenAI Responses: 404
      /of type 'reasoning' was provided without its required following item/, // OpenAI Responses
      /was provided without its required (?:'reasoning' item|preceding item of type 'reasoning')/, // OpenAI Responses
      /encrypted (?:reasoning )?content .{0,60}(?:could not be|was not)/i,
    ],
    lesson: 'drop_thinking',
  },
  {
    kind: 'invalid',
    words: 'the request is malformed',
    statuses: [400, 422],
    texts: [/Item with id '[^']{0,80}' not found/], // OpenAI Responses: 404
  },
];
