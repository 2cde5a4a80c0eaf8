import type { ErrorRow } from './error-row.ts';
import { statesOutputCap } from './overflow-text.ts';

/** Errors of the agent's settings. Rolling back to an earlier version of the context would not help. */
export const SETTING_ERRORS: readonly ErrorRow[] = [
  {
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
      /(?:tool|function) names? (?:must be|are not|is not) unique|unique (?:tool |function )?names/i, // Anthropic
      /duplicated? (?:tool|function)/i, // Gemini and others
      /(?:tools?|tool (?:use|calling|calls)|functions?) (?:is|are) not supported/i,
      /does ?n[o']t support (?:tools|tool[ _-]?(?:use|calling|calls?)|function)/i, // Ollama
      /no endpoints found that support tool use/i, // OpenRouter
      /function calling is not (?:enabled|supported)/i, // Gemini
      /auto" tool choice requires/i, // vLLM
      /tools param requires --jinja/i, // llama.cpp
      /only supports single tool-calls at once/i,
      /^(?=[^]*request too large)[^]*output tokens per min/i, // Groq: the output limit is above the limit of a minute
    ],
    states: statesOutputCap,
    texts: [
      /^tools\.\d+\./, // Anthropic
      /is not supported (?:for|by|with) this model/i, // Anthropic, OpenAI
      /Invalid '(?:tools|instructions)\b[^']*': (?:array|string) too long/, // OpenAI
      // Unknown fields outside of the messages: OpenAI, Groq, Mistral, Gemini, FastAPI
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

/** Errors of the form of the messages. Some name the form that the provider accepts. */
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
