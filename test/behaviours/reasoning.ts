import type { Message } from '../../src/domain/message.ts';
import type { RawAnswer } from '../provider/fault.ts';
import type { JsonObject } from '../provider/json.ts';
import type { Behaviour, Step } from './behaviour.ts';
import { anthropicMessage, anthropicRefusal, calls, chunk, completed, refusal } from './wire-texts.ts';

const CHAT = { format: 'openai-chat' } as const;
const ANTHROPIC = { format: 'anthropic' } as const;
const RESPONSES = { format: 'openai-responses' } as const;

const DEEPSEEK = 'https://api-docs.deepseek.com/guides/thinking_mode';
const DEEPSEEK_ISSUE = 'https://github.com/anomalyco/opencode/issues/24722';
const OPENROUTER = 'https://openrouter.ai/docs/use-cases/reasoning-tokens';
const GEMINI = 'https://ai.google.dev/gemini-api/docs/thought-signatures';

const ALL_REQUESTS = 'The reasoning of answers with calls goes back in all later requests.';
const ONCE = 'The request is sent once more in that form. Later requests have it at once.';

const SURE: Message = { role: 'user', content: 'Sure?' };
const CALLED = { calls: [['read', '{"path":"a"}']] } as const;
const READ_CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } };

/** Three answers: a call with reasoning, a text with reasoning, and a text in the next turn. */
function talk(thought: JsonObject): RawAnswer[] {
  return [
    { body: [chunk(thought), calls(READ_CALL), chunk({}, 'tool_calls')] },
    { body: [chunk({ ...thought, content: 'Two files.' }), chunk({}, 'stop')] },
    { body: [chunk({ content: 'Yes.' }), chunk({}, 'stop')] },
  ];
}

/** The steps of `talk`. The last step also runs under a new version of the context, as after a compaction. */
function steps(inLoop: Partial<Step>, later: Partial<Step>): Step[] {
  return [
    { effect: CALLED },
    { effect: { text: 'Two files.' }, ...inLoop },
    { messages: [SURE], version: 1, effect: { text: 'Yes.' }, ...later },
  ];
}

const CONTENT = /"reasoning_content":"Hm\."/;
const TWICE = /"reasoning_content":"Hm\.".*"reasoning_content":"Hm\."/;

/** A history of another model: its call has no reasoning. */
const FOREIGN: readonly Message[] = [
  { role: 'user', content: 'Which files?' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c2_0', name: 'read', arguments: '{"path":"a"}' }] },
  { role: 'tool', content: 'found', toolCallId: 'c2_0' },
];

const replayed: readonly Behaviour[] = [
  ...(
    [
      ['reasoning-deepseek', 'DeepSeek', 'deepseek-v4-pro', DEEPSEEK],
      ['reasoning-kimi', 'Moonshot', 'kimi-k2.6', 'https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model'],
      ['reasoning-qwen', 'DashScope', 'qwen3.7-max', 'https://www.alibabacloud.com/help/en/model-studio/deep-thinking'],
      ['reasoning-maker-prefix', 'Together, Fireworks', 'deepseek-ai/DeepSeek-V4', DEEPSEEK_ISSUE],
    ] as const
  ).map(
    ([id, provider, model, source]): Behaviour => ({
      ...CHAT,
      id,
      provider,
      source,
      model,
      does: 'wants `reasoning_content` of answers with calls back in all later requests',
      must: ALL_REQUESTS,
      replies: talk({ reasoning_content: 'Hm.' }),
      steps: steps({ sends: [CONTENT] }, { sends: [CONTENT], omits: [TWICE] }),
    }),
  ),
  {
    ...CHAT,
    id: 'reasoning-loop-only',
    provider: 'vLLM, SGLang',
    source: 'https://docs.vllm.ai/en/latest/features/reasoning_outputs.html',
    does: 'wants reasoning back only inside the tool loop',
    must: 'The reasoning goes back inside its tool loop, and not in later turns.',
    replies: talk({ reasoning_content: 'Hm.' }),
    steps: steps({ sends: [CONTENT] }, { omits: [/Hm\./] }),
  },
  {
    ...CHAT,
    id: 'reasoning-minimax',
    provider: 'MiniMax',
    source: 'https://platform.minimax.io/docs/guides/text-m2-function-call',
    model: 'MiniMax-M2.5',
    does: 'wants the reasoning of all answers back',
    must: 'The reasoning of all answers goes back.',
    replies: talk({ reasoning_content: 'Hm.' }),
    steps: steps({ sends: [CONTENT] }, { sends: [TWICE] }),
  },
  {
    ...CHAT,
    id: 'reasoning-none',
    provider: 'A profile with `reasoning: none`',
    source: 'https://console.groq.com/docs/reasoning',
    profile: { habits: { reasoning: 'none' } },
    does: 'refuses every field for reasoning',
    must: 'No reasoning goes back.',
    replies: talk({ reasoning: 'Hm.' }),
    steps: steps({ omits: [/Hm\./] }, { omits: [/Hm\./] }),
  },
  {
    ...CHAT,
    id: 'reasoning-details-text',
    provider: 'OpenRouter',
    source: OPENROUTER,
    model: 'anthropic/claude-opus-5.5',
    does: 'streams `reasoning_details` in pieces, and wants the joined details back',
    must: 'The joined details go back once, with their signature, for all answers with calls.',
    replies: [
      {
        body: [
          chunk({
            reasoning: 'Two ',
            reasoning_details: [{ type: 'reasoning.text', text: 'Two ', format: 'anthropic-claude-v1', index: 0 }],
          }),
          chunk({
            reasoning: 'files.',
            reasoning_details: [{ type: 'reasoning.text', text: 'files.', format: 'anthropic-claude-v1', index: 0 }],
          }),
          chunk({
            reasoning_details: [{ type: 'reasoning.text', signature: 'sig=', format: 'anthropic-claude-v1', index: 0 }],
          }),
          calls(READ_CALL),
          chunk({}, 'tool_calls'),
        ],
      },
      ...talk({}).slice(1),
    ],
    steps: steps(
      {
        sends: [
          /"reasoning_details":\[\{"type":"reasoning.text","text":"Two files\.","format":"anthropic-claude-v1","index":0,"signature":"sig="\}\]/,
        ],
        omits: [/"reasoning":/],
      },
      { sends: [/"signature":"sig="/] },
    ),
  },
  {
    ...CHAT,
    id: 'reasoning-details-encrypted',
    provider: 'OpenRouter',
    source: 'https://github.com/OpenHands/software-agent-sdk/issues/1500',
    model: 'google/gemini-3-pro-preview',
    does: 'sends the signatures of Gemini 3 as `reasoning.encrypted` details',
    must: 'The details go back unchanged, for all answers with calls.',
    replies: [
      {
        body: [
          chunk({
            reasoning_details: [
              { type: 'reasoning.encrypted', data: 'AY89', id: 'call_1', format: 'google-gemini-v1', index: 0 },
            ],
          }),
          calls(READ_CALL),
          chunk({}, 'tool_calls'),
        ],
      },
      ...talk({}).slice(1),
    ],
    steps: steps({ sends: [/"type":"reasoning.encrypted","data":"AY89","id":"call_1"/] }, { sends: [/"data":"AY89"/] }),
  },
  {
    ...CHAT,
    id: 'signature-gemini',
    provider: 'Gemini (OpenAI endpoint)',
    source: GEMINI,
    model: 'gemini-3-pro-preview',
    does: 'sends a thought signature in `extra_content` of a tool call',
    must: 'The signature goes back with its call in all later requests.',
    replies: [
      {
        body: [
          calls({ ...READ_CALL, extra_content: { google: { thought_signature: 'AY89' } } }),
          chunk({}, 'tool_calls'),
        ],
      },
      ...talk({}).slice(1),
    ],
    steps: steps({ sends: [/"thought_signature":"AY89"/] }, { sends: [/"thought_signature":"AY89"/] }),
  },
  {
    ...CHAT,
    id: 'signature-gemini-foreign',
    provider: 'Gemini (OpenAI endpoint)',
    source: `${GEMINI}#faqs`,
    model: 'gemini-3-pro-preview',
    does: 'requires a signature on calls that another model made',
    must: 'Such a call goes back with the placeholder that Gemini documents.',
    replies: [{ body: [chunk({ content: 'One.' }, 'stop')] }],
    steps: [
      {
        messages: FOREIGN,
        effect: { text: 'One.' },
        sends: [/"thought_signature":"skip_thought_signature_validator"/],
      },
    ],
  },
  {
    ...CHAT,
    id: 'signature-gemini-learned',
    provider: 'Gemini through a gateway',
    source: 'https://github.com/openai/openai-python/issues/2758',
    does: 'refuses calls without a signature, under a model name that does not show Gemini',
    must: ONCE,
    replies: [
      {
        status: 400,
        body: JSON.stringify([
          {
            error: {
              code: 400,
              message:
                'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.',
              status: 'INVALID_ARGUMENT',
            },
          },
        ]),
      },
      { body: [chunk({ content: 'One.' }, 'stop')] },
      { body: [chunk({ content: 'Yes.' }, 'stop')] },
    ],
    steps: [
      { messages: FOREIGN, effect: { text: 'One.' }, sends: [/skip_thought_signature_validator/] },
      { messages: [SURE], effect: { text: 'Yes.' }, sends: [/skip_thought_signature_validator/] },
    ],
  },
  {
    ...CHAT,
    id: 'reasoning-required',
    provider: 'DeepSeek',
    source: DEEPSEEK_ISSUE,
    model: 'deepseek-v4-pro',
    does: 'refuses a history of another model, whose calls have no reasoning',
    must: ONCE,
    replies: [
      refusal(400, {
        message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_request_error',
      }),
      { body: [chunk({ content: 'One.' }, 'stop')] },
      { body: [chunk({ content: 'Yes.' }, 'stop')] },
    ],
    steps: [
      { messages: FOREIGN, effect: { text: 'One.' }, sends: [/"reasoning_content":"\(not recorded\)"/] },
      { messages: [SURE], effect: { text: 'Yes.' }, sends: [/"reasoning_content":"\(not recorded\)"/] },
    ],
  },
  {
    ...CHAT,
    id: 'reasoning-required-kimi',
    provider: 'Moonshot',
    source: 'https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model',
    model: 'accounts/acme/models/tuned',
    does: 'refuses calls without reasoning, under a model name that does not show Kimi',
    must: ONCE,
    replies: [
      refusal(400, {
        message: 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
        type: 'invalid_request_error',
      }),
      { body: [chunk({ content: 'One.' }, 'stop')] },
      { body: [chunk({ content: 'Yes.' }, 'stop')] },
    ],
    steps: [
      { messages: FOREIGN, effect: { text: 'One.' }, sends: [/"reasoning_content":/] },
      { messages: [SURE], effect: { text: 'Yes.' }, sends: [/"reasoning_content":/] },
    ],
  },
  ...(
    [
      [
        'reasoning-refused-groq',
        'Groq',
        'https://github.com/janhq/jan/issues/8136',
        400,
        {
          error: {
            message:
              "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
            type: 'invalid_request_error',
          },
        },
      ],
      [
        'reasoning-refused-mistral',
        'Mistral',
        'https://github.com/charmbracelet/crush/issues/1590',
        422,
        {
          object: 'error',
          message: {
            detail: [
              {
                type: 'extra_forbidden',
                loc: ['body', 'messages', 2, 'assistant', 'reasoning_content'],
                msg: 'Extra inputs are not permitted',
                input: 'Hm.',
              },
            ],
          },
          type: 'invalid_request_error',
          param: null,
          code: null,
        },
      ],
    ] as const
  ).map(
    ([id, provider, source, status, body]): Behaviour => ({
      ...CHAT,
      id,
      provider,
      source,
      does: 'refuses `reasoning_content` in a request',
      must: ONCE,
      replies: [
        talk({ reasoning_content: 'Hm.' })[0] as RawAnswer,
        { status, body },
        { body: [calls({ ...READ_CALL, id: 'call_2' }), chunk({}, 'tool_calls')] },
        { body: [chunk({ content: 'Two files.' }, 'stop')] },
      ],
      steps: [
        { effect: CALLED },
        { effect: CALLED, omits: [/reasoning_content/] },
        { effect: { text: 'Two files.' }, omits: [/reasoning_content/] },
      ],
    }),
  ),
];

const THINKING = { type: 'thinking', thinking: 'Hm.', signature: '' };
const USE = { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a' } };

const unsigned: readonly Behaviour[] = [
  {
    ...ANTHROPIC,
    id: 'anthropic-unsigned-thinking',
    provider: 'DeepSeek (Anthropic endpoint)',
    source: 'https://api-docs.deepseek.com/guides/anthropic_api',
    model: 'deepseek-v4-pro',
    does: 'sends thinking without a signature, and wants it back in all later requests',
    must: 'The thinking goes back unchanged, also under a new version of the context.',
    replies: [
      { body: anthropicMessage([THINKING, USE], 'tool_use') },
      { body: anthropicMessage([{ type: 'text', text: 'Two files.' }]) },
      { body: anthropicMessage([{ type: 'text', text: 'Yes.' }]) },
    ],
    steps: steps({ sends: [/"thinking":"Hm\."/] }, { sends: [/"thinking":"Hm\."/] }),
  },
  {
    ...ANTHROPIC,
    id: 'anthropic-thinking-required',
    provider: 'DeepSeek (Anthropic endpoint)',
    source: DEEPSEEK_ISSUE,
    model: 'deepseek-v4-pro',
    does: 'refuses a history of another model, whose calls have no thinking',
    must: ONCE,
    replies: [
      anthropicRefusal(
        400,
        'invalid_request_error',
        'The `content[].thinking` in the thinking mode must be passed back to the API.',
      ),
      { body: anthropicMessage([{ type: 'text', text: 'One.' }]) },
      { body: anthropicMessage([{ type: 'text', text: 'Yes.' }]) },
    ],
    steps: [
      { messages: FOREIGN, effect: { text: 'One.' }, sends: [/"type":"thinking","thinking":"\(not recorded\)"/] },
      { messages: [SURE], effect: { text: 'Yes.' }, sends: [/"type":"thinking","thinking":"\(not recorded\)"/] },
    ],
  },
];

const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' };
const DONE = {
  type: 'message',
  id: 'msg_2',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Two files.', annotations: [] }],
};
const REPLAY = 'https://github.com/continuedev/continue/issues/8933';

/** A refusal of the reasoning in the second request, and two requests after it. */
function refusedReasoning(id: string, does: string, refused: RawAnswer): Behaviour {
  return {
    ...RESPONSES,
    id,
    provider: 'OpenAI',
    source: REPLAY,
    does,
    must: 'The request is sent once more without that reasoning. Later requests do not send it again.',
    replies: [
      { body: [completed([REASONING, CALL])] },
      refused,
      {
        body: [
          completed([
            { ...REASONING, id: 'rs_2', encrypted_content: 'gBBB' },
            { ...CALL, id: 'fc_2', call_id: 'call_2' },
          ]),
        ],
      },
      { body: [completed([DONE])] },
    ],
    steps: [
      { effect: CALLED },
      { effect: CALLED, omits: [/gAAA/, /"fc_1"/], sends: [/"call_1"/] },
      { effect: { text: 'Two files.' }, omits: [/gAAA/], sends: [/gBBB/] },
    ],
  };
}

function openAi(message: string, code: string | null = null): RawAnswer {
  return refusal(400, { message, type: 'invalid_request_error', param: 'input', code });
}

const refused: readonly Behaviour[] = [
  refusedReasoning(
    'refused-reasoning-without-item',
    'refuses reasoning "without its required following item"',
    openAi("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
  ),
  refusedReasoning(
    'refused-item-without-reasoning',
    'refuses an item "without its required reasoning item"',
    openAi("Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'."),
  ),
  refusedReasoning(
    'refused-encrypted-content',
    'refuses encrypted content that it cannot verify',
    openAi('The encrypted content gAAA... could not be verified.', 'invalid_encrypted_content'),
  ),
  {
    ...ANTHROPIC,
    id: 'refused-signature',
    provider: 'Anthropic',
    source: 'https://platform.claude.com/docs/en/build-with-claude/extended-thinking',
    does: 'refuses the signature of earlier thinking',
    must: 'The request is sent once more without that thinking. Later requests do not send it again.',
    replies: [
      { body: anthropicMessage([{ ...THINKING, signature: 'old=' }, USE], 'tool_use') },
      anthropicRefusal(400, 'invalid_request_error', 'messages.1.content.0: Invalid `signature` in `thinking` block'),
      { body: anthropicMessage([{ ...USE, id: 'toolu_2' }], 'tool_use') },
      { body: anthropicMessage([{ type: 'text', text: 'Two files.' }]) },
    ],
    steps: [
      { effect: CALLED },
      { effect: CALLED, omits: [/old=/] },
      { effect: { text: 'Two files.' }, omits: [/old=/] },
    ],
  },
];

export const REASONINGS: readonly Behaviour[] = [...replayed, ...unsigned, ...refused];
