import type { Message } from '../../src/domain/message.ts';
import { type Behaviour, type OneCall, oneCall } from './behaviour.ts';
import { anthropicMessage, calls, chunk, completed } from './wire-texts.ts';

const CHAT = { format: 'openai-chat' } as const;
const ANTHROPIC = { format: 'anthropic' } as const;
const RESPONSES = { format: 'openai-responses' } as const;
const TWO = 'Both calls run, each with an id of its own.';
const END = chunk({}, 'tool_calls');

/** Two whole calls of the tool `read`. */
const both = {
  calls: [
    ['read', '{"path":"a"}'],
    ['read', '{"path":"b"}'],
  ],
} as const;

function read(path: string): { name: string; arguments: string } {
  return { name: 'read', arguments: JSON.stringify({ path }) };
}

const single: readonly OneCall[] = [
  {
    ...CHAT,
    id: 'call-no-id',
    provider: 'SGLang',
    source: 'https://github.com/sgl-project/sglang/issues/7048',
    does: 'sends tool calls with `id: null`',
    must: TWO,
    reply: {
      body: [calls({ index: 0, id: null, function: read('a') }, { index: 1, id: null, function: read('b') }), END],
    },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-empty-id',
    provider: 'Gemini through gateways',
    source: 'https://github.com/run-llama/llama_index/pull/20207',
    does: 'sends tool calls with `id: ""`',
    must: TWO,
    reply: { body: [calls({ index: 0, id: '', function: read('a') }, { index: 1, id: '', function: read('b') }), END] },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-same-id-twice',
    provider: 'Gemini through gateways',
    source: 'https://github.com/brainlid/langchain/pull/620',
    does: 'gives two calls of one tool the same id',
    must: TWO,
    reply: {
      body: [
        calls({ index: 0, id: 'call-read', function: read('a') }),
        calls({ index: 1, id: 'call-read', function: read('b') }),
        END,
      ],
    },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-same-id-and-index',
    provider: 'OpenRouter',
    source: 'https://github.com/skye-harris/hass_local_openai_llm/pull/92',
    does: 'gives parallel calls the same index and the same id',
    must: TWO,
    reply: {
      body: [calls({ index: 0, id: 'x', function: read('a') }), calls({ index: 0, id: 'x', function: read('b') }), END],
    },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-index-0',
    provider: 'Gemini and Ollama through gateways',
    source: 'https://github.com/su-kaka/gcli2api/pull/406',
    does: 'sends each whole call in a chunk of its own, with index 0 and no id',
    must: TWO,
    reply: {
      body: [calls({ index: 0, function: read('a') }), calls({ index: 0, function: read('b') }), END],
    },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-index-0-with-ids',
    provider: 'Ollama',
    source: 'https://github.com/BerriAI/litellm/pull/37792',
    does: 'sends parallel calls with index 0 and ids of their own',
    must: TWO,
    reply: {
      body: [calls({ index: 0, id: 'a', function: read('a') }), calls({ index: 0, id: 'b', function: read('b') }), END],
    },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-index-0-one-chunk',
    provider: 'Ollama',
    source: 'https://github.com/BerriAI/litellm/pull/37792',
    does: 'sends two whole calls in one chunk, both with index 0 and no id',
    must: TWO,
    reply: { body: [calls({ index: 0, function: read('a') }, { index: 0, function: read('b') }), END] },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-no-index',
    provider: 'Ollama, Gemini (OpenAI endpoint)',
    source: 'https://github.com/ollama/ollama/issues/7881',
    does: 'sends tool calls without an index',
    must: TWO,
    reply: { body: [calls({ id: 'a', function: read('a') }), calls({ id: 'b', function: read('b') }), END] },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-no-index-no-id',
    provider: 'Ollama',
    source: 'https://github.com/ollama/ollama/issues/7881',
    does: 'sends two whole calls in one chunk, without index and id',
    must: TWO,
    reply: { body: [calls({ function: read('a') }, { function: read('b') }), END] },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-no-arguments-twice',
    provider: 'Ollama',
    source: 'https://github.com/BerriAI/litellm/pull/37792',
    does: 'sends two calls without arguments, both with index 0 and no id',
    must: TWO,
    reply: {
      body: [
        calls({ index: 0, function: { name: 'list', arguments: '{}' } }),
        calls({ index: 0, function: { name: 'list', arguments: '{}' } }),
        END,
      ],
    },
    effect: {
      calls: [
        ['list', '{}'],
        ['list', '{}'],
      ],
    },
  },
  {
    ...CHAT,
    id: 'call-object-arguments',
    provider: 'llama.cpp',
    source: 'https://github.com/ggml-org/llama.cpp/issues/20198',
    does: 'sends the arguments as an object',
    must: 'The call runs with these arguments.',
    reply: { body: [calls({ index: 0, id: 'a', function: { name: 'read', arguments: { path: 'a' } } }), END] },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...CHAT,
    id: 'call-null-arguments',
    provider: 'Ollama',
    source: 'https://github.com/use-agent-os/agent-os/pull/2042',
    does: 'sends `arguments: null` for a call without arguments',
    must: 'The call runs with no arguments.',
    reply: { body: [calls({ index: 0, id: 'a', function: { name: 'list', arguments: null } }), END] },
    effect: { calls: [['list', '']] },
  },
  {
    ...CHAT,
    id: 'call-null-text-arguments',
    provider: 'Ollama',
    source: 'https://github.com/use-agent-os/agent-os/pull/2042',
    does: 'sends the text `null` for a call without arguments',
    must: 'The call runs with no arguments.',
    reply: { body: [calls({ index: 0, id: 'a', function: { name: 'list', arguments: 'null' } }), END] },
    effect: { calls: [['list', '']] },
  },
  {
    ...CHAT,
    id: 'call-arguments-twice-serialized',
    provider: 'OpenAI-compatible gateways',
    source: 'https://github.com/vinhnx/VTCode/pull/354',
    does: 'serializes the arguments twice',
    must: 'The call runs with the inner arguments.',
    reply: {
      body: [calls({ index: 0, id: 'a', function: { name: 'read', arguments: '"{\\"path\\":\\"a\\"}"' } }), END],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...CHAT,
    id: 'call-whole-message',
    provider: 'OpenAI-compatible gateways',
    source: 'https://github.com/BaseIntelligence/bounty-challenge/issues/17821',
    does: 'ignores `stream: true` and sends tool calls in one JSON body',
    must: TWO,
    reply: {
      body: {
        id: 'c',
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            message: {
              role: 'assistant',
              content: null,
              tool_calls: [
                { id: 'a', type: 'function', function: read('a') },
                { id: 'b', type: 'function', function: read('b') },
              ],
            },
          },
        ],
      },
    },
    effect: both,
  },
  {
    ...CHAT,
    id: 'call-legacy-function-call',
    provider: 'OpenAI (before `tools`), gateways',
    source: 'https://platform.openai.com/docs/api-reference/chat/streaming',
    does: 'sends a `function_call` in place of `tool_calls`',
    must: 'The call runs.',
    reply: {
      body: [
        chunk({ function_call: { name: 'read', arguments: '' } }),
        chunk({ function_call: { arguments: '{"path":"a"}' } }),
        chunk({}, 'function_call'),
      ],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...CHAT,
    id: 'call-name-in-every-piece',
    provider: 'OpenAI-compatible gateways',
    source: 'https://github.com/BerriAI/litellm/issues/11407',
    does: 'repeats id and name in every piece of a call',
    must: 'The pieces are one call.',
    reply: {
      body: [
        calls({ index: 0, id: 'a', function: { name: 'read', arguments: '{"path"' } }),
        calls({ index: 0, id: 'a', function: { name: 'read', arguments: ':"a"}' } }),
        END,
      ],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...ANTHROPIC,
    id: 'anthropic-call-whole-input',
    provider: 'Anthropic-compatible endpoints',
    source: 'https://api-docs.deepseek.com/guides/anthropic_api',
    does: 'sends the whole `input` when the block starts, and no pieces of it',
    must: 'The call runs with these arguments.',
    reply: {
      body: anthropicMessage([{ type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } }], 'tool_use'),
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...ANTHROPIC,
    id: 'anthropic-call-same-id',
    provider: 'Gateways in front of Gemini',
    source: 'https://github.com/brainlid/langchain/pull/620',
    does: 'sends two `tool_use` blocks with one id',
    must: TWO,
    reply: {
      body: anthropicMessage(
        [
          { type: 'tool_use', id: 'call-read', name: 'read', input: { path: 'a' } },
          { type: 'tool_use', id: 'call-read', name: 'read', input: { path: 'b' } },
        ],
        'tool_use',
      ),
    },
    effect: both,
  },
  {
    ...ANTHROPIC,
    id: 'anthropic-call-no-id',
    provider: 'Gateways in front of Gemini',
    source: 'https://github.com/run-llama/llama_index/pull/20207',
    does: 'sends a `tool_use` block with an empty id',
    must: 'The call runs, with an id of its own.',
    reply: {
      body: anthropicMessage([{ type: 'tool_use', id: '', name: 'read', input: { path: 'a' } }], 'tool_use'),
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...RESPONSES,
    id: 'responses-call-no-call-id',
    provider: 'Gemini through gateways',
    source: 'https://github.com/openai/openai-agents-python/pull/1959',
    does: 'sends a `function_call` item with an empty `call_id`',
    must: 'The call runs, with an id of its own.',
    reply: {
      body: [completed([{ type: 'function_call', id: 'fc_1', call_id: '', name: 'read', arguments: '{"path":"a"}' }])],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...RESPONSES,
    id: 'responses-call-object-arguments',
    provider: 'llama.cpp',
    source: 'https://github.com/ggml-org/llama.cpp/issues/20198',
    does: 'sends the arguments of a `function_call` item as an object',
    must: 'The call runs with these arguments.',
    reply: {
      body: [completed([{ type: 'function_call', id: 'fc_1', call_id: 'a', name: 'read', arguments: { path: 'a' } }])],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
];

const MESSAGE = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Two files.', annotations: [] }],
};
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' };
const DELTA = { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0 };
const NEW_API = 'https://github.com/QuantumNous/new-api/issues/4362';
const PLEXUS = 'https://github.com/mcowger/plexus/pull/644';

const outputs: readonly OneCall[] = [
  {
    ...RESPONSES,
    id: 'responses-empty-output-text',
    provider: 'New API',
    source: NEW_API,
    does: 'ends with `response.completed` and `output: []`, after a whole message item',
    must: 'The answer is the text of `response.output_item.done`.',
    reply: {
      body: [
        { ...DELTA, delta: 'Two files.' },
        { type: 'response.output_item.done', output_index: 0, item: MESSAGE },
        completed([]),
      ],
    },
    effect: { text: 'Two files.' },
  },
  {
    ...RESPONSES,
    id: 'responses-empty-output-call',
    provider: 'Plexus',
    source: PLEXUS,
    does: 'ends with `response.completed` and `output: []`, after a whole tool call',
    must: 'The tool call of `response.output_item.done` runs.',
    reply: {
      body: [
        { type: 'response.output_item.added', output_index: 0, item: { ...CALL, arguments: '' } },
        { type: 'response.output_item.done', output_index: 0, item: CALL },
        completed([]),
      ],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...RESPONSES,
    id: 'responses-empty-output-deltas',
    provider: 'New API',
    source: NEW_API,
    does: 'ends with `output: []`, after text deltas and no whole item',
    must: 'The answer is the text of the deltas.',
    reply: { body: [{ ...DELTA, delta: 'Two ' }, { ...DELTA, delta: 'files.' }, completed([])] },
    effect: { text: 'Two files.' },
  },
  {
    ...RESPONSES,
    id: 'responses-empty-output-call-deltas',
    provider: 'Plexus',
    source: PLEXUS,
    does: 'ends with `output: []`, after deltas of tool call arguments',
    must: 'The tool call of the deltas runs.',
    reply: {
      body: [
        { type: 'response.output_item.added', output_index: 0, item: { ...CALL, arguments: '' } },
        { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: '{"path"' },
        { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'fc_1', delta: ':"a"}' },
        completed([]),
      ],
    },
    effect: { calls: [['read', '{"path":"a"}']] },
  },
  {
    ...RESPONSES,
    id: 'responses-no-output',
    provider: 'GoModel',
    source: 'https://github.com/ENTERPILOT/GoModel/pull/831',
    does: 'ends with `response.completed` without the field `output`',
    must: 'The answer is the text of `response.output_item.done`.',
    reply: {
      body: [
        { type: 'response.output_item.done', output_index: 0, item: MESSAGE },
        { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
      ],
    },
    effect: { text: 'Two files.' },
  },
  {
    ...RESPONSES,
    id: 'responses-no-status',
    provider: 'GoModel',
    source: 'https://github.com/ENTERPILOT/GoModel/pull/831',
    does: 'ends with `response.completed` without the field `status`',
    must: 'The answer is complete.',
    reply: { body: [{ type: 'response.completed', response: { id: 'resp_1', output: [MESSAGE] } }] },
    effect: { text: 'Two files.' },
  },
  {
    ...RESPONSES,
    id: 'responses-cut-off',
    provider: 'OpenAI',
    source: 'https://platform.openai.com/docs/api-reference/responses-streaming/response/incomplete',
    does: 'ends with `response.incomplete` and `output: []`',
    must: 'The answer counts as cut off.',
    reply: {
      body: [
        { ...DELTA, delta: 'Two' },
        {
          type: 'response.incomplete',
          response: { status: 'incomplete', output: [], incomplete_details: { reason: 'max_output_tokens' } },
        },
      ],
    },
    effect: { text: 'Two', end: 'cut_off' },
  },
  {
    ...RESPONSES,
    id: 'responses-cut',
    provider: 'OpenAI',
    source: 'https://platform.openai.com/docs/api-reference/responses-streaming',
    does: 'is cut off after a whole item, before `response.completed`',
    must: 'The call is retried. The cut answer is never used.',
    reply: { body: [{ type: 'response.output_item.done', output_index: 0, item: MESSAGE }], isCut: true },
    effect: { error: 'retry' },
  },
];

/** A history with a call whose id comes from another provider. */
const foreign: readonly Message[] = [
  { role: 'user', content: 'Which files?' },
  {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: 'c2_0', name: 'read', arguments: '{"path":"a"}', providerId: 'toolu_01A09q90qw90lq917835lq9' }],
  },
  { role: 'tool', content: 'found', toolCallId: 'c2_0' },
];

const MISTRAL =
  'https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py';

const ids: readonly Behaviour[] = [
  {
    ...CHAT,
    id: 'ids-mistral',
    provider: 'Mistral',
    source: MISTRAL,
    does: 'accepts only tool call ids of nine letters or digits',
    must: 'Ids of other providers are sent as nine letters or digits, the same for call and result.',
    model: 'mistral-large-2512',
    replies: [{ body: [chunk({ content: 'One.' }, 'stop')] }],
    steps: [
      {
        messages: foreign,
        effect: { text: 'One.' },
        sends: [/"tool_calls":\[\{"id":"([a-zA-Z0-9]{9})".*"tool_call_id":"\1"/],
        omits: [/toolu_01/, /c2_0/],
      },
    ],
  },
  {
    ...CHAT,
    id: 'ids-mistral-refused',
    provider: 'Mistral behind a gateway',
    source: 'https://github.com/mistralai/platform-docs-public/issues/7',
    does: 'refuses an id of another form, under a model name that does not show Mistral',
    must: 'The request is sent once more with ids of nine letters or digits. Later requests have them at once.',
    replies: [
      {
        status: 400,
        body: {
          object: 'error',
          message: 'Tool call id was toolu_01A09q90qw90lq917835lq9 but must be a-z, A-Z, 0-9, with a length of 9.',
          type: 'invalid_function_call',
          param: null,
          code: '3280',
        },
      },
      { body: [chunk({ content: 'One.' }, 'stop')] },
      { body: [chunk({ content: 'Two.' }, 'stop')] },
    ],
    steps: [
      { messages: foreign, effect: { text: 'One.' }, sends: [/"tool_call_id":"[a-zA-Z0-9]{9}"/] },
      {
        messages: [{ role: 'user', content: 'Sure?' }],
        effect: { text: 'Two.' },
        sends: [/"tool_call_id":"[a-zA-Z0-9]{9}"/],
      },
    ],
  },
  {
    ...CHAT,
    id: 'ids-repeat-between-steps',
    provider: 'vLLM, Kimi K2',
    source: 'https://github.com/brainlid/langchain/pull/620',
    does: 'gives calls of different steps the same id',
    must: 'Each call has an id of its own in the next request.',
    replies: [
      { body: [calls({ index: 0, id: 'call_0', function: read('a') }), END] },
      { body: [calls({ index: 0, id: 'call_0', function: read('b') }), END] },
      { body: [chunk({ content: 'Done.' }, 'stop')] },
    ],
    steps: [
      { effect: { calls: [['read', '{"path":"a"}']] } },
      { effect: { calls: [['read', '{"path":"b"}']] } },
      { effect: { text: 'Done.' }, omits: [/"id":"(\w+)".*"id":"\1"/] },
    ],
  },
  {
    ...ANTHROPIC,
    id: 'ids-anthropic',
    provider: 'Anthropic',
    source: 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use',
    does: 'accepts only ids of letters, digits, `_` and `-`',
    must: 'Ids of other providers are sent in a legal form.',
    replies: [{ body: anthropicMessage([{ type: 'text', text: 'One.' }]) }],
    steps: [
      {
        messages: [
          { role: 'user', content: 'Which files?' },
          {
            role: 'assistant',
            content: '',
            toolCalls: [{ id: 'functions.read:0', name: 'read', arguments: '{"path":"a"}' }],
          },
          { role: 'tool', content: 'found', toolCallId: 'functions.read:0' },
        ],
        effect: { text: 'One.' },
        omits: [/functions\.read:0/],
      },
    ],
  },
];

const UNKNOWN = 'The call goes back under its name, with an error as its result. `tools` stays the same.';
const INVENTED: readonly Message[] = [
  { role: 'user', content: 'Which files?' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c2_0', name: 'open_file', arguments: '{}' }] },
  { role: 'tool', content: 'there is no tool "open_file"', toolCallId: 'c2_0', isError: true },
];
const ONLY_READ = /"name":"read"/;
const DESCRIBED =
  /"(?:description|input_schema|parameters)":[^}]*\}[^}]*"name":"open_file"|"name":"open_file","description"/;

const inventedNames: readonly Behaviour[] = [
  {
    ...CHAT,
    id: 'invented-name-chat',
    provider: 'OpenAI',
    source: 'https://platform.openai.com/docs/guides/function-calling',
    does: 'lets the model call a tool that does not exist',
    must: UNKNOWN,
    replies: [{ body: [chunk({ content: 'One.' }, 'stop')] }],
    steps: [{ messages: INVENTED, effect: { text: 'One.' }, sends: [/open_file/, ONLY_READ], omits: [DESCRIBED] }],
  },
  {
    ...ANTHROPIC,
    id: 'invented-name-anthropic',
    provider: 'Anthropic',
    source: 'https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use',
    does: 'lets the model call a tool that does not exist',
    must: UNKNOWN,
    replies: [{ body: anthropicMessage([{ type: 'text', text: 'One.' }]) }],
    steps: [{ messages: INVENTED, effect: { text: 'One.' }, sends: [/open_file/, ONLY_READ], omits: [DESCRIBED] }],
  },
  {
    ...RESPONSES,
    id: 'invented-name-responses',
    provider: 'OpenAI',
    source: 'https://platform.openai.com/docs/guides/function-calling',
    does: 'lets the model call a tool that does not exist',
    must: UNKNOWN,
    replies: [{ body: [completed([MESSAGE])] }],
    steps: [
      { messages: INVENTED, effect: { text: 'Two files.' }, sends: [/open_file/, ONLY_READ], omits: [DESCRIBED] },
    ],
  },
];

export const TOOL_CALLS: readonly Behaviour[] = [...single.map(oneCall), ...ids, ...inventedNames];
export const OUTPUTS: readonly Behaviour[] = outputs.map(oneCall);
