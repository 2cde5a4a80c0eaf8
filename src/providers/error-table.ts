import { type ErrorRow, FORM_ERRORS, SETTING_ERRORS, SIZE_ERRORS } from './request-errors.ts';

/** Errors that only the owner of the provider account can resolve. */
const ACCOUNT_ERRORS: readonly ErrorRow[] = [
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
];

/**
 * The meaning of each provider error for a turn. Providers and gateways report one fact by code, status or text, and
 * their codes contradict their texts. So `findRow` in `provider-errors.ts` compares from specific to general:
 * 1. `decidingTexts`
 * 2. the error code, then the type, except broad types such as `invalid_request_error`
 * 3. the HTTP status, except broad statuses such as 400 and 500
 * 4. `texts`, and then the broad types and statuses
 * The first matching row wins. A rate limit has its own code or status, so "too many tokens" does not make it an
 * overflow.
 */
export const ERROR_TABLE: readonly ErrorRow[] = [
  ...SIZE_ERRORS,
  ...ACCOUNT_ERRORS,
  {
    kind: 'retry',
    words: 'the provider could not read the tool call that the model wrote',
    types: ['tool_use_failed', 'output_parse_failed'], // Groq
    texts: [/failed to call a function/i],
  },
  {
    kind: 'retry',
    words: 'rate limited',
    isLimit: true,
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
    isLimit: true,
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
    refusesContents: true,
    types: [
      'invalid_prompt',
      'moderation_blocked', // OpenAI
      '1301', // z.ai
      'content_filter',
      'content_policy_violation',
      'data_inspection_failed', // DashScope
      'image_content_policy_violation',
      'misalignment_policy_violation',
      'bio_policy',
    ],
    decidingTexts: [
      /content violates usage guidelines|SAFETY_CHECK_TYPE/i, // xAI: 403
      /input was flagged/i, // OpenRouter: 403
    ],
    texts: [
      /blocked by content filtering policy/i, // Anthropic
      /content management policy/i, // Azure, through gateways that drop its code
      /rejected (?:as a result of|by) (?:our|the) safety system/i, // OpenAI
      /flagged as potentially violating/i, // OpenAI
      /content exists risk/i, // DeepSeek
      /ContentPolicyViolation/, // LiteLLM
      /(?:input|output) new_sensitive/i, // MiniMax
    ],
  },
  {
    kind: 'fatal',
    words: 'the provider could not read a picture or a file',
    refusesContents: true,
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
    texts: [
      /could not process (?:image|pdf)/i, // Anthropic
      /unable to download the file/i,
      /the pdf specified (?:was not valid|is password protected)/i, // Anthropic
      /media type, but the image appears to be/i, // Anthropic
      /unsupported image|invalid (?:base64 )?image|not a valid image|invalid file data/i, // OpenAI and others
      /unable to process input image|the document has no pages|unsupported mime type/i, // Gemini
      /cannot identify image file|failed to (?:load|decode|process) (?:the )?image/i, // vLLM, llama.cpp, Ollama
      /failed to download image|illegal base64 data/i,
    ],
  },
  ...SETTING_ERRORS,
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
  ...FORM_ERRORS,
];
