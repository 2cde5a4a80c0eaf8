import type { ErrorRow } from './error-row.ts';

/** Errors that say that a request is too large: its tokens, its bytes or its pictures. */
export const SIZE_ERRORS: readonly ErrorRow[] = [
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
      /^(?=[^]*request too large)[^]*(?<!output )tokens per min/i,
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
      /too many total text bytes/i, // Bedrock.
      /exceeded model token limit/i, // Moonshot
      /context window exceeds limit/i, // MiniMax
      /range of input length should be/i, // DashScope
      /prompt exceeds max length/i, // GLM.
      /`inputs` tokens \+ `max_new_tokens` must be <=/i, // Together, TGI
      /too many tokens: total number/i, // Cohere
      /loaded with context length of only/i, // LM Studio
      /cannot truncate prompt with n_keep/i, // LM Studio.
      /greater than the context length/i, // LM Studio
      /reached context length of/i, // LM Studio
      /context (?:size|length|window) (?:has been |was )?exceeded/i, // LM Studio, llama.cpp.
      /prompt (?:is )?too long/i, // Ollama, z.ai.
      /prompt 超长/, // z.ai
      /longer than the (?:model'?s context length|maximum model length)/i, // SGLang, Together, Novita, vLLM
      /exceeds? (?:the )?maximum (?:allowed )?input length/i, // SGLang, DeepInfra.
      /max_(?:completion_)?tokens must be at least 1, got -/i, // vLLM: the prompt fills the window.
      /exceeded this model context window limit/i, // Cloudflare
      /\b(?:model_)?context_(?:length|window)_exceeded\b|ContextWindowExceeded/, // gateways: the code of the provider
      /number of input tokens exceeds maximum length/i, // Bedrock.
      /tokens in request more than max tokens allowed/i,
      /(?:exceeds|has exceed) (?:the )?(?:context limit|configured limit of \d+ tokens)/i, // Azure, Bedrock
      /configured context size is [\d,]+ tokens/i,
      /inputs must have less than \d+ tokens/i, // TGI
      /total message size \d+ exceeds limit/i, // Moonshot
      /max size: \d+ tokens/i, // GitHub Models.
      /model_max_prompt_tokens_exceeded/,
    ],
  },
  {
    kind: 'overflow',
    words: 'the request has more bytes than the provider accepts',
    types: ['request_too_large'],
    statuses: [413],
    texts: [/request entity too large/i, /payload too large/i, /request payload size exceeds the limit/i], // the last: Gemini
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
      /(?:number|amount) of images/i, // Gemini
      /image dimensions exceed/i, // Anthropic: also "many-image requests".
      /many-image requests/i,
      /image exceeds .{0,20} maximum/i, // Anthropic
      /image size .{0,40}exceeds/i, // OpenAI
      /images? (?:(?:is|are|was) )?too (?:large|big)/i,
    ],
  },
];
