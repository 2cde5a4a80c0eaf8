import type { Message } from '../../src/domain/message.ts';
import type { RawAnswer } from '../provider/fault.ts';
import type { Behaviour, Step } from './behaviour.ts';
import { anthropicMessage, anthropicRefusal, chunk, completed, refusal } from './wire-texts.ts';

const ONCE = 'The request is sent once more with a marked user message in that place. Later requests have it at once.';
const LATER = 'https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages';

const TALK: readonly Message[] = [
  { role: 'user', content: 'Which files?' },
  { role: 'assistant', content: 'Two.' },
  { role: 'user', content: 'Which?' },
  { role: 'system', content: 'Answer in German.' },
];

const CHAT_ONE: RawAnswer = { body: [chunk({ content: 'One.' }, 'stop')] };
const ANTHROPIC_ONE: RawAnswer = { body: anthropicMessage([{ type: 'text', text: 'One.' }]) };

const MARKED = /<system_message>\\nAnswer in German\.\\n<\/system_message>/;

function twice(sends: RegExp): Step[] {
  return [
    { messages: TALK, effect: { text: 'One.' }, sends: [sends] },
    { messages: [{ role: 'user', content: 'Sure?' }], effect: { text: 'One.' }, sends: [sends] },
  ];
}

/** Forms in which providers take a system message behind other messages. */
export const SYSTEM_MESSAGES: readonly Behaviour[] = [
  {
    id: 'system-later-openai',
    format: 'openai-chat',
    provider: 'OpenAI',
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
    does: 'takes a system message behind other messages',
    must: 'The system message stays in its place.',
    replies: [CHAT_ONE, CHAT_ONE],
    steps: twice(/"content":"Which\?"\},\{"role":"system","content":"Answer in German\."\}/),
  },
  {
    id: 'system-later-responses',
    format: 'openai-responses',
    provider: 'OpenAI',
    source: 'https://platform.openai.com/docs/api-reference/responses/create',
    does: 'takes a developer message behind other messages',
    must: 'The system message stays in its place.',
    replies: [
      {
        body: [completed([{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One.' }] }])],
      },
    ],
    steps: twice(/"role":"developer","content":\[\{"type":"input_text","text":"Answer in German\."/).slice(0, 1),
  },
  {
    id: 'system-later-template',
    format: 'openai-chat',
    provider: 'vLLM, SGLang, llama.cpp with the templates of Qwen, Llama and Gemma',
    source: 'https://github.com/raullenchai/Rapid-MLX/issues/1543',
    does: 'refuses a system message behind other messages',
    must: ONCE,
    replies: [
      refusal(400, {
        message: 'Chat template error: System message must be at the beginning.',
        type: 'invalid_request_error',
      }),
      CHAT_ONE,
      CHAT_ONE,
    ],
    steps: twice(MARKED),
  },
  {
    id: 'system-later-claude',
    format: 'anthropic',
    provider: 'Anthropic',
    source: LATER,
    profile: { habits: { takesLaterSystem: true } },
    does: 'takes a system message between a user message and an answer (Opus 4.8 and newer, not Sonnet 5)',
    must: 'The system message stays in its place, as a system message there, and else as a marked user message.',
    replies: [ANTHROPIC_ONE, ANTHROPIC_ONE],
    steps: twice(/\{"role":"system","content":\[\{"type":"text","text":"Answer in German\."/),
  },
  {
    id: 'system-later-old-claude',
    format: 'anthropic',
    provider: 'Anthropic',
    source: 'https://github.com/anthropics/claude-code/issues/61412',
    profile: { habits: { takesLaterSystem: true } },
    does: 'refuses a system message behind other messages (Opus 4.7 and older)',
    must: ONCE,
    replies: [
      anthropicRefusal(400, 'invalid_request_error', "role 'system' is not supported on this model"),
      ANTHROPIC_ONE,
      ANTHROPIC_ONE,
    ],
    steps: twice(MARKED),
  },
  {
    id: 'system-later-messages-of-others',
    format: 'anthropic',
    provider: 'DeepSeek (Messages)',
    source: 'https://github.com/deepseek-ai/awesome-deepseek-integration/issues/639',
    profile: { habits: { takesLaterSystem: true } },
    does: 'refuses a system message behind other messages',
    must: ONCE,
    replies: [
      anthropicRefusal(
        400,
        'invalid_request_error',
        'Failed to deserialize the JSON body into the target type: messages[7].role: unknown variant `system`, expected `user` or `assistant`',
      ),
      ANTHROPIC_ONE,
      ANTHROPIC_ONE,
    ],
    steps: twice(MARKED),
  },
];
