import type { ModelErrorKind } from '../domain/model.ts';
import { statesOutputCap, statesOverflow } from './overflow-text.ts';
import type { TeachingError } from './provider-habits.ts';

/** A kind of provider error, with the signs of a failed request of this kind. */
export interface ErrorRow {
  readonly kind: ModelErrorKind;
  /** Text of the error message. */
  readonly words: string;
  readonly types?: readonly string[];
  readonly statuses?: readonly number[];
  readonly texts?: readonly RegExp[];
  readonly states?: (message: string) => boolean;
  /** Patterns that are compared first, because they are more specific than code and status. */
  readonly decidingTexts?: readonly RegExp[];
  /** True if the provider refused what the messages say or hold. */
  readonly refusesContents?: true;
  /** True if the provider refused a setting of the request. */
  readonly refusesSettings?: true;
  /** True if other calls of the model would fail as well: a rate limit or an overload. */
  readonly isLimit?: true;
  /** Form in which the provider may accept the same request. */
  readonly lesson?: TeachingError['lesson'];
}

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
      // OpenAI and Groq refuse a request above the token limit of one minute, so waiting does not help.
      /^(?=[^]*request too large)[^]*(?<!output )tokens per min/i,
    ],
    states: statesOverflow,
    texts: [
      // OpenAI accepts 2,048 messages and 10 MB of text. For a long id, the same code means a malformed request.
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

/** Errors about a setting of the request. A request with an earlier context would fail in the same way. */
export const SETTING_ERRORS: readonly ErrorRow[] = [
  {
    kind: 'fatal',
    words: 'the model does not support a setting of the request',
    refusesSettings: true,
    types: [
      'unsupported_parameter',
      'unsupported_value',
      'invalid_function_parameters',
      'tool_name_conflict',
      'available_tools_limit_exceeded',
    ],
    decidingTexts: [
      /(?:tool|function) names? (?:must be|are not|is not) unique|unique (?:tool |function )?names/i, // Anthropic
      /duplicated? (?:tool|function)/i, // Gemini and others
      /(?:tools?|tool (?:use|calling|calls)|functions?) (?:is|are) not supported/i,
      /does ?n[o']t support (?:tools|tool[ _-]?(?:use|calling|calls?)|function)/i, // Ollama
      /no endpoints found that support tool use/i, // OpenRouter
      /function calling is not (?:enabled|supported)/i, // Gemini
      /auto" tool choice requires/i, // vLLM
      /tools param requires --jinja/i, // llama.cpp
      /only supports single tool-calls at once/i,
      /^(?=[^]*request too large)[^]*output tokens per min/i, // Groq: the output exceeds the token limit of a minute
    ],
    states: statesOutputCap,
    texts: [
      /^tools\.\d+\./, // Anthropic
      /is not supported (?:for|by|with) this model/i, // Anthropic, OpenAI
      /Invalid '(?:tools|instructions)\b[^']*': (?:array|string) too long/, // OpenAI
      // Unknown fields outside of the messages: OpenAI, Groq, Mistral, Gemini, FastAPI.
      /unrecognized (?:request arguments?|key\(?s?\)?|fields?)/i,
      /argument not supported on this model/i, // xAI
      /^(?!.*messages).*additional properties are not allowed/is,
      /unknown parameter: '(?!messages|input)/i,
      /^(?!.*'messages\.).*property '[\w.]+' is unsupported/is, // Groq, Cerebras
      /"loc": ?\["body", ?"(?!messages)\w+"/,
      /unknown name "\w+": cannot find field/i,
      /^(?:\d{3} )?\w+: extra inputs are not permitted/im,
    ],
  },
];

export const FORM_ERRORS: readonly ErrorRow[] = [
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
      /^(?=[^]*extra_forbidden)[^]*"reasoning/, // Mistral
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
    words: 'the provider refused a system message behind other messages',
    decidingTexts: [
      /system (?:message|role|prompt)s? (?:must be|are only supported|is only (?:supported|allowed)) (?:at|in) the (?:beginning|start)/i, // templates of Qwen, Llama, Gemma
      /(?:unexpected )?role ['"`\\]*system['"`\\]* is not supported|unexpected role ['"`\\]*system/i, // Anthropic
      /use the top-level ['"`]?system['"`]? parameter/i, // Anthropic
      /role: unknown variant ['"`]system/i, // DeepSeek
    ],
    lesson: 'system_first',
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
