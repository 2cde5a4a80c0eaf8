import type { ErrorRow } from './error-row.ts';
import { statesOverflow } from './overflow-text.ts';

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
    states: statesOverflow,
    texts: [
      // OpenAI's limits: 2,048 messages, 10 MB of text. The field is matched, and not the error code, because the same
      // code for a long id means a malformed request.
      /Invalid '(?:messages|input)(?:\[\d+\][^']*\.(?:content|output|text|arguments)(?:\[\d+\])?)?': (?:array|string) too long/,
      /too many total text bytes/i, // Bedrock
      /cannot truncate prompt with n_keep/i, // LM Studio
      /max_(?:completion_)?tokens must be at least 1, got -/i, // vLLM: the prompt fills the window
      /`inputs` tokens \+ `max_new_tokens` must be <=/i, // Together, TGI
      /\b(?:model_)?context_(?:length|window)_exceeded\b|ContextWindowExceeded/, // gateways: the code of the provider
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
