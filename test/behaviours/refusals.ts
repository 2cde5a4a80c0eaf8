import type { ModelErrorKind } from '../../src/domain/model.ts';
import type { WireFormat } from '../../src/domain/raw-items.ts';
import type { RawAnswer } from '../provider/fault.ts';
import { type Behaviour, oneCall } from './behaviour.ts';
import { anthropicRefusal, chunk, refusal } from './wire-texts.ts';

const MUST: Readonly<Record<ModelErrorKind, string>> = {
  overflow: 'The turn asks for a compaction, and sends the request again.',
  retry: 'The turn waits, and sends the request again.',
  fatal: 'The turn fails with a clear code, and no version is rolled back. A chain tries its next model.',
  invalid: 'A compacted version is rolled back.',
};

/** Id, provider, source, what the provider says, and the response. */
type Row = readonly [id: string, provider: string, source: string, does: string, reply: RawAnswer, code?: string];

function behaviours(kind: ModelErrorKind, format: WireFormat, rows: readonly Row[]): Behaviour[] {
  return rows.map(([id, provider, source, does, reply, code]) => {
    const effect = { error: kind, ...(code !== undefined && { code }) };
    return oneCall({ id, provider, source, does: `answers ${does}`, must: MUST[kind], format, reply, effect });
  });
}

function openAi(
  status: number,
  message: string,
  code: string | null = null,
  type = 'invalid_request_error',
): RawAnswer {
  return refusal(status, { message, type, param: null, code });
}

/** An error without the field `error`, as SGLang, vLLM and Mistral send it. */
function bare(status: number, message: unknown, more: object = {}): RawAnswer {
  return { status, body: { object: 'error', message, type: 'BadRequestError', param: null, code: status, ...more } };
}

const PI = 'https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts';
const LM_STUDIO = 'https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues';
const OPENROUTER = 'https://openrouter.ai/docs/api-reference/errors';
const OPENAI_ERRORS = 'https://platform.openai.com/docs/guides/error-codes';
const ANTHROPIC_ERRORS = 'https://platform.claude.com/docs/en/api/errors';
const ANTHROPIC_SDK = 'https://github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/shared.ts';
const VISION = 'https://platform.claude.com/docs/en/build-with-claude/vision';
const Z_AI = 'https://docs.z.ai/api-reference/api-code';

const overflows: readonly Row[] = [
  [
    'overflow-openai',
    'OpenAI',
    OPENAI_ERRORS,
    '"maximum context length"',
    openAi(
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
      'context_length_exceeded',
    ),
  ],
  [
    'overflow-ollama',
    'Ollama',
    PI,
    '"prompt too long"',
    refusal(400, 'prompt too long; exceeded max context length by 4021 tokens'),
  ],
  [
    'overflow-lm-studio-n-keep',
    'LM Studio',
    'https://github.com/anomalyco/opencode/issues/11141',
    '"Cannot truncate prompt with n_keep"',
    refusal(400, 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)'),
  ],
  [
    'overflow-lm-studio-keep',
    'LM Studio',
    PI,
    '"tokens to keep from the initial prompt is greater than the context length"',
    refusal(
      400,
      'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    ),
  ],
  [
    'overflow-lm-studio-200',
    'LM Studio',
    `${LM_STUDIO}/2322`,
    'status 200 and an error event that says "Reached context length"',
    {
      body: [
        {
          type: 'error',
          error: {
            message:
              'Reached context length of 4096 tokens, but this model does not currently support mid-generation context overflow.',
          },
        },
      ],
    },
  ],
  [
    'overflow-lm-studio-200-json',
    'LM Studio',
    `${LM_STUDIO}/2322`,
    'status 200 and a JSON body with an error text',
    {
      body: {
        error:
          'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
      },
    },
  ],
  [
    'overflow-lm-studio-mlx',
    'LM Studio (MLX)',
    `${LM_STUDIO}/2339`,
    '"Context size has been exceeded"',
    refusal(400, 'Context size has been exceeded.'),
  ],
  [
    'overflow-llama-cpp-500',
    'llama.cpp',
    PI,
    'status 500 and "Context size has been exceeded" inside the stream',
    { body: [{ error: { code: 500, message: 'Context size has been exceeded.', type: 'server_error' } }] },
  ],
  [
    'overflow-llama-cpp',
    'llama.cpp',
    PI,
    '`exceed_context_size_error`',
    refusal(400, {
      code: 400,
      message: 'the request exceeds the available context size, try increasing it',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 8807,
      n_ctx: 8192,
    }),
  ],
  [
    'overflow-sglang',
    'SGLang',
    'https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py',
    '"is longer than the model\'s context length", without the field `error`',
    bare(400, "The input (516368 tokens) is longer than the model's context length (262144 tokens)."),
  ],
  [
    'overflow-sglang-requested',
    'SGLang',
    'https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/managers/tokenizer_manager.py',
    '"Requested token count exceeds the model\'s maximum context length"',
    bare(400, "Requested token count exceeds the model's maximum context length of 131072 tokens."),
  ],
  [
    'overflow-sglang-allowed',
    'SGLang',
    PI,
    '"exceeds the maximum allowed input length"',
    bare(400, 'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.'),
  ],
  [
    'overflow-vllm-bare',
    'vLLM',
    'https://github.com/vllm-project/vllm/issues/17092',
    '"maximum context length", without the field `error`',
    bare(
      400,
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages. Please reduce the length of the messages.",
    ),
  ],
  [
    'overflow-vllm-max-tokens',
    'vLLM',
    'https://github.com/vllm-project/vllm/blob/main/vllm/sampling_params.py',
    '"max_tokens must be at least 1, got -1210", because the prompt fills the window',
    bare(400, 'max_tokens must be at least 1, got -1210.'),
  ],
  [
    'overflow-cloudflare',
    'Cloudflare Workers AI',
    'https://developers.cloudflare.com/workers-ai/platform/errors/',
    'status 400 and "exceeded this model context window limit" in `errors`',
    {
      status: 400,
      body: {
        success: false,
        result: null,
        errors: [
          {
            code: 5021,
            message:
              'AiError: The estimated number of input and maximum output tokens (35000) exceeded this model context window limit (24000).',
          },
        ],
      },
    },
  ],
  [
    'overflow-openrouter',
    'OpenRouter',
    OPENROUTER,
    '"This endpoint\'s maximum context length"',
    refusal(400, {
      code: 400,
      message:
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens. Please reduce the length of either one.",
    }),
  ],
  [
    'overflow-openrouter-raw',
    'OpenRouter',
    OPENROUTER,
    '"Provider returned error", with the error of the provider behind it in `metadata.raw`',
    refusal(400, {
      code: 400,
      message: 'Provider returned error',
      metadata: {
        provider_name: 'Anthropic',
        raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}',
      },
    }),
  ],
  [
    'overflow-openrouter-200',
    'OpenRouter',
    OPENROUTER,
    'status 200 and a JSON body with an error',
    {
      body: {
        error: { code: 400, message: 'Provider returned error', metadata: { raw: 'context_length_exceeded' } },
        user_id: 'u',
      },
    },
  ],
  [
    'overflow-openrouter-stream',
    'OpenRouter',
    OPENROUTER,
    'an error with `metadata.raw` inside the stream',
    {
      body: [
        chunk({ content: '' }, 'error', {
          error: {
            code: 400,
            message: 'Provider returned error',
            metadata: { raw: 'Input is too long for requested model.' },
          },
        }),
      ],
    },
  ],
  ['overflow-z-ai', 'z.ai', Z_AI, 'code 1261', refusal(400, { code: '1261', message: 'Prompt too long' })],
  [
    'overflow-z-ai-text',
    'z.ai through a gateway',
    Z_AI,
    '"Prompt too long", without its code',
    refusal(400, { message: 'Prompt too long' }),
  ],
  [
    'overflow-mistral',
    'Mistral',
    PI,
    '"too large for model with 262144 maximum context length", without the field `error`',
    bare(
      400,
      'Prompt contains 300000 tokens and 0 draft tokens, too large for model with 262144 maximum context length',
      {
        type: 'invalid_request_error',
        code: '3051',
      },
    ),
  ],
  [
    'overflow-gemini',
    'Gemini (OpenAI endpoint)',
    'https://github.com/Gitlawb/openclaude/issues/67',
    'a list with one error, "input token count exceeds the maximum"',
    {
      status: 400,
      body: JSON.stringify([
        {
          error: {
            code: 400,
            message: 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
            status: 'INVALID_ARGUMENT',
          },
        },
      ]),
    },
  ],
  [
    'overflow-xai',
    'xAI',
    PI,
    '"maximum prompt length"',
    refusal(400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
  ],
  [
    'overflow-groq',
    'Groq',
    PI,
    '"Please reduce the length of the messages"',
    openAi(400, 'Please reduce the length of the messages or completion.', 'context_length_exceeded'),
  ],
  [
    'overflow-bedrock',
    'Bedrock',
    'https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html',
    '"Input is too long for requested model"',
    { status: 400, body: { message: 'Input is too long for requested model.' } },
  ],
  [
    'overflow-bedrock-nova',
    'Bedrock (Nova)',
    'https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html',
    '"Number of input tokens exceeds maximum length"',
    {
      status: 400,
      body: {
        message:
          'The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.',
      },
    },
  ],
  [
    'overflow-azure',
    'Azure',
    'https://learn.microsoft.com/azure/ai-services/openai/reference',
    '"Input tokens exceed the configured limit"',
    openAi(
      400,
      'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.',
      'context_length_exceeded',
    ),
  ],
  [
    'overflow-litellm',
    'LiteLLM',
    'https://docs.litellm.ai/docs/exception_mapping',
    '"ContextWindowExceededError" with the code "400"',
    refusal(400, {
      message: 'litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError',
      type: null,
      param: null,
      code: '400',
    }),
  ],
  [
    'overflow-litellm-503',
    'LiteLLM',
    PI,
    'status 503, with the error of the provider behind it',
    refusal(503, {
      message:
        "litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.",
      type: null,
      code: '503',
    }),
  ],
  [
    'overflow-minimax-200',
    'MiniMax',
    'https://platform.minimax.io/docs/api-reference/errorcode',
    'status 200 and `base_resp` with the code 2013',
    {
      body: {
        id: 'x',
        choices: null,
        base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit (2013)' },
      },
    },
  ],
  [
    'overflow-moonshot-bytes',
    'Moonshot',
    'https://platform.moonshot.ai/docs/api/chat',
    '"total message size exceeds limit"',
    openAi(400, 'total message size 2306631 exceeds limit 2097152'),
  ],
  [
    'overflow-github-models',
    'GitHub Models',
    'https://docs.github.com/en/rest/models/inference',
    'status 413 and `tokens_limit_reached`',
    refusal(413, {
      code: 'tokens_limit_reached',
      message: 'Request body too large for gpt-4o model. Max size: 8000 tokens.',
    }),
  ],
  [
    'overflow-groq-tpm',
    'Groq',
    'https://github.com/continuedev/continue/issues/10218',
    'status 413, `rate_limit_exceeded` and "Request too large … tokens per minute"',
    openAi(
      413,
      'Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.',
      'rate_limit_exceeded',
      'tokens',
    ),
  ],
  [
    'overflow-openai-tpm',
    'OpenAI',
    'https://github.com/vanna-ai/vanna-flask/issues/11',
    'status 429 and "Request too large … tokens per min"',
    openAi(
      429,
      'Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.',
      'rate_limit_exceeded',
      'tokens',
    ),
  ],
];

const pictures: readonly Row[] = [
  [
    'pictures-too-many',
    'Anthropic',
    'https://github.com/anthropics/claude-code/issues/24541',
    '"too many images and documents"',
    anthropicRefusal(400, 'invalid_request_error', 'too many images and documents: 120 + 0 > 100'),
  ],
  [
    'pictures-too-much-media',
    'Anthropic',
    'https://github.com/anthropics/claude-code/issues/24541',
    '"Too much media"',
    anthropicRefusal(400, 'invalid_request_error', 'Too much media: 0 document pages + 107 images > 100'),
  ],
  [
    'pictures-many-image-requests',
    'Anthropic',
    VISION,
    '"image dimensions exceed max allowed size for many-image requests"',
    anthropicRefusal(
      400,
      'invalid_request_error',
      'messages.21.content.94.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels',
    ),
  ],
  [
    'pictures-too-large',
    'Anthropic',
    VISION,
    '"image exceeds 5 MB maximum"',
    anthropicRefusal(
      400,
      'invalid_request_error',
      'messages.4.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
    ),
  ],
];

const chatPictures: readonly Row[] = [
  [
    'pictures-vllm',
    'vLLM',
    'https://github.com/vllm-project/vllm/issues/17092',
    '"At most 5 image(s) may be provided in one request"',
    bare(400, 'At most 5 image(s) may be provided in one request.'),
  ],
  [
    'pictures-copilot',
    'GitHub Copilot',
    'https://github.com/microsoft/vscode/issues/306919',
    '"Too many images in request"',
    refusal(400, {
      message: 'Too many images in request: 11 images provided, but the model supports a maximum of 10 images.',
      code: '',
    }),
  ],
  [
    'pictures-console',
    'OpenCode Zen',
    'https://github.com/anomalyco/opencode/issues/47721',
    '"request contains 52 images, exceeding the maximum of 50 allowed per request"',
    openAi(400, 'request contains 52 images, exceeding the maximum of 50 allowed per request'),
  ],
  [
    'pictures-openai-bytes',
    'OpenAI',
    'https://platform.openai.com/docs/guides/images-vision#image-input-requirements',
    '"Total image size is 52.00 MB, which exceeds the allowed limit"',
    openAi(400, 'Total image size is 52.00 MB, which exceeds the allowed limit of 50.00 MB.'),
  ],
  [
    'pictures-new-api',
    'New API',
    'https://github.com/QuantumNous/new-api/issues/1233',
    'status 500 and "too many images in the message"',
    openAi(500, 'too many images in the message, max allowed is 16'),
  ],
];

const anthropicFatals: readonly Row[] = [
  [
    'spend-enforced',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 429 and `enforced_spend_limit_reached`',
    anthropicRefusal(429, 'rate_limit_error', 'You have reached the limit.', 'enforced_spend_limit_reached'),
    'enforced_spend_limit_reached',
  ],
  [
    'spend-contract',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 429 and `contract_spend_limit_reached`',
    anthropicRefusal(429, 'rate_limit_error', 'You have reached the limit.', 'contract_spend_limit_reached'),
    'contract_spend_limit_reached',
  ],
  [
    'organization-on-hold',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 400 and `organization_on_hold`',
    anthropicRefusal(
      400,
      'invalid_request_error',
      'This organization has been disabled. An organization admin can appeal at https://console.anthropic.com/appeal',
      'organization_on_hold',
    ),
    'organization_on_hold',
  ],
  [
    'cmek-key-disabled',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 400 and `cmek_key_disabled`',
    anthropicRefusal(400, 'invalid_request_error', 'The encryption key is disabled.', 'cmek_key_disabled'),
    'cmek_key_disabled',
  ],
  [
    'cmek-key-network',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 400 and `cmek_key_network_blocked`',
    anthropicRefusal(400, 'invalid_request_error', 'The request was blocked.', 'cmek_key_network_blocked'),
    'cmek_key_network_blocked',
  ],
  [
    'linked-spend-limit',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 402 and `linked_organization_spend_limit_reached`',
    anthropicRefusal(402, 'billing_error', 'No.', 'linked_organization_spend_limit_reached'),
    'linked_organization_spend_limit_reached',
  ],
  [
    'credit-balance',
    'Anthropic',
    ANTHROPIC_ERRORS,
    '"credit balance is too low"',
    anthropicRefusal(
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
  ],
  [
    'duplicate-tools-anthropic',
    'Anthropic',
    ANTHROPIC_ERRORS,
    '"Tool names must be unique"',
    anthropicRefusal(400, 'invalid_request_error', 'tools: Tool names must be unique.'),
  ],
  [
    'unknown-field-anthropic',
    'Anthropic',
    ANTHROPIC_ERRORS,
    '"Extra inputs are not permitted" for a field of the request',
    anthropicRefusal(400, 'invalid_request_error', 'store: Extra inputs are not permitted'),
  ],
];

const chatFatals: readonly Row[] = [
  [
    'spend-gemini',
    'Gemini',
    'https://ai.google.dev/gemini-api/docs/billing',
    'status 429 and "exceeded its monthly spending cap"',
    refusal(429, {
      code: 429,
      message: 'Your project has exceeded its monthly spending cap. Please go to AI Studio to manage your cap.',
      status: 'RESOURCE_EXHAUSTED',
    }),
  ],
  [
    'spend-openai-project',
    'OpenAI',
    'https://github.com/openai/openai-node/blob/master/src/resources/beta/agents/agents.ts',
    'status 429 and `project_spend_limit_exceeded`',
    openAi(429, 'The project has reached its limit.', 'project_spend_limit_exceeded'),
    'project_spend_limit_exceeded',
  ],
  [
    'balance-deepseek',
    'DeepSeek',
    'https://api-docs.deepseek.com/quick_start/error_codes',
    'status 402 and "Insufficient Balance"',
    openAi(402, 'Insufficient Balance', 'invalid_request_error', 'unknown_error'),
  ],
  [
    'balance-z-ai',
    'z.ai',
    Z_AI,
    'status 429 and code 1113',
    refusal(429, { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' }),
    '1113',
  ],
  [
    'balance-moonshot',
    'Moonshot',
    'https://platform.moonshot.ai/docs/api/chat',
    'status 429 and `exceeded_current_quota_error`',
    refusal(429, {
      message: 'Your account is suspended due to insufficient balance, please recharge your account or check your plan',
      type: 'exceeded_current_quota_error',
    }),
  ],
  [
    'budget-litellm',
    'LiteLLM',
    'https://docs.litellm.ai/docs/proxy/users',
    '"Budget has been exceeded"',
    refusal(400, {
      message: 'Budget has been exceeded! Current cost: 10.1, Max budget: 10.0',
      type: 'budget_exceeded',
      param: null,
      code: '400',
    }),
  ],
  [
    'duplicate-tools-gemini',
    'Gemini (OpenAI endpoint)',
    'https://ai.google.dev/gemini-api/docs/openai',
    '"Duplicate function declaration found"',
    refusal(400, { code: 400, message: 'Duplicate function declaration found: read', status: 'INVALID_ARGUMENT' }),
  ],
  [
    'no-tools-ollama',
    'Ollama',
    'https://github.com/ollama/ollama/issues/11131',
    '"does not support tools"',
    refusal(400, {
      message: 'registry.ollama.ai/library/gemma3:4b does not support tools',
      type: 'api_error',
      param: null,
      code: null,
    }),
  ],
  [
    'no-tools-openrouter',
    'OpenRouter',
    OPENROUTER,
    'status 404 and "No endpoints found that support tool use"',
    refusal(404, { code: 404, message: 'No endpoints found that support tool use.' }),
  ],
  [
    'no-tools-vllm',
    'vLLM',
    'https://docs.vllm.ai/en/latest/features/tool_calling.html',
    '"auto" tool choice requires --enable-auto-tool-choice',
    bare(400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
  ],
  [
    'no-tools-llama-cpp',
    'llama.cpp',
    'https://github.com/ggml-org/llama.cpp/blob/master/docs/function-calling.md',
    'status 500 and "tools param requires --jinja flag"',
    refusal(500, { code: 500, message: 'tools param requires --jinja flag', type: 'server_error' }),
  ],
  [
    'unknown-field-mistral',
    'Mistral',
    'https://github.com/editor-code-assistant/eca/issues/231',
    'status 422 and `extra_forbidden` for a field of the request',
    bare(
      422,
      {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'max_completion_tokens'],
            msg: 'Extra inputs are not permitted',
            input: 32000,
          },
        ],
      },
      { type: 'invalid_request_error', code: null },
    ),
  ],
  [
    'unknown-field-groq',
    'Groq',
    'https://github.com/fanenr/chatbot/issues/21',
    '"property \'store\' is unsupported"',
    openAi(400, "property 'store' is unsupported, did you mean 'stop'?"),
  ],
  [
    'unknown-field-openai',
    'OpenAI',
    OPENAI_ERRORS,
    '"Unrecognized request argument supplied"',
    openAi(400, 'Unrecognized request argument supplied: thinking'),
  ],
  [
    'unknown-field-gemini',
    'Gemini (OpenAI endpoint)',
    'https://ai.google.dev/gemini-api/docs/openai',
    '"Unknown name: Cannot find field"',
    refusal(400, {
      code: 400,
      message: 'Invalid JSON payload received. Unknown name "store": Cannot find field.',
      status: 'INVALID_ARGUMENT',
    }),
  ],
  [
    'unknown-field-cerebras',
    'Cerebras',
    'https://inference-docs.cerebras.ai/support/error',
    'status 422 and `wrong_api_format`',
    refusal(422, {
      message: "body.store: property 'body.store' is unsupported",
      type: 'invalid_request_error',
      param: 'validation_error',
      code: 'wrong_api_format',
    }),
  ],
  [
    'unknown-field-openrouter',
    'OpenRouter',
    OPENROUTER,
    '"Unrecognized key(s) in object"',
    refusal(400, { code: 400, message: "Unrecognized key(s) in object: 'store'" }),
  ],
  [
    'moderation-dashscope',
    'DashScope',
    'https://www.alibabacloud.com/help/en/model-studio/error-code',
    '`data_inspection_failed`',
    openAi(400, 'Input data may contain inappropriate content.', 'data_inspection_failed', 'data_inspection_failed'),
  ],
  [
    'output-tpm-groq',
    'Groq',
    'https://console.groq.com/docs/rate-limits',
    '"Request too large … output tokens per minute"',
    openAi(
      429,
      'Request too large for model `qwen3` on output tokens per minute (OTPM): Limit 1000, Requested 2048.',
      'rate_limit_exceeded',
      'tokens',
    ),
  ],
];

const retries: readonly Row[] = [
  [
    'tool-use-failed',
    'Groq',
    'https://github.com/groq/groq-typescript/issues/28',
    'status 400 and `tool_use_failed`',
    openAi(
      400,
      "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
      'tool_use_failed',
    ),
    'tool_use_failed',
  ],
  [
    'tool-use-failed-stream',
    'Groq',
    'https://github.com/anomalyco/opencode/issues/1018',
    '`tool_use_failed` inside the stream',
    {
      body: [
        {
          type: 'error',
          error: {
            message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
            type: 'invalid_request_error',
            code: 'tool_use_failed',
            status_code: 400,
          },
        },
      ],
    },
    'tool_use_failed',
  ],
  [
    'rate-limit-openai',
    'OpenAI',
    OPENAI_ERRORS,
    'status 429 and a limit that more time mends',
    openAi(
      429,
      'Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.642s.',
      'rate_limit_exceeded',
      'tokens',
    ),
  ],
  [
    'rate-limit-bedrock',
    'Bedrock',
    'https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html',
    'a rate limit whose text says "Too many tokens"',
    openAi(429, 'Too many tokens, please wait before trying again.', 'ThrottlingException', 'ThrottlingException'),
  ],
  [
    'overloaded-moonshot',
    'Moonshot',
    'https://platform.moonshot.ai/docs/api/chat',
    'status 429 and `engine_overloaded_error`',
    refusal(429, {
      message: 'The engine is currently overloaded, please try again later',
      type: 'engine_overloaded_error',
    }),
  ],
  [
    'overloaded-deepseek',
    'DeepSeek',
    'https://api-docs.deepseek.com/quick_start/error_codes',
    'status 503 and "Server overloaded"',
    refusal(503, { message: 'Server overloaded, please retry shortly.', type: 'server_error' }),
  ],
  [
    'disconnected-openrouter',
    'OpenRouter',
    OPENROUTER,
    'status 502 and "Provider returned error"',
    refusal(502, { code: 502, message: 'Provider returned error' }),
  ],
];

const anthropicRetries: readonly Row[] = [
  [
    'cmek-unreachable',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 503 and `cmek_key_unreachable`',
    anthropicRefusal(503, 'api_error', 'The key could not be reached.', 'cmek_key_unreachable'),
    'cmek_key_unreachable',
  ],
  [
    'ramp-limit',
    'Anthropic',
    ANTHROPIC_SDK,
    'status 429 and `ramp_limit_exceeded`',
    anthropicRefusal(429, 'rate_limit_error', 'The request would exceed a ramp limit.', 'ramp_limit_exceeded'),
    'ramp_limit_exceeded',
  ],
];

export const OVERFLOWS: readonly Behaviour[] = behaviours('overflow', 'openai-chat', overflows);
export const PICTURES: readonly Behaviour[] = [
  ...behaviours('overflow', 'anthropic', pictures),
  ...behaviours('overflow', 'openai-chat', chatPictures),
];
export const ACCOUNTS: readonly Behaviour[] = [
  ...behaviours('fatal', 'anthropic', anthropicFatals),
  ...behaviours('fatal', 'openai-chat', chatFatals),
  ...behaviours('retry', 'openai-chat', retries),
  ...behaviours('retry', 'anthropic', anthropicRetries),
];
