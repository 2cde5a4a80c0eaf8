import { z } from 'zod';
import type { CallAnswer } from '../../client/index.ts';
import { boundedList } from '../../domain/bounded-schemas.ts';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import type { WaitingCall } from '../../domain/turn.ts';
import { checkShownCall, readCallName } from '../front-end/call-names.ts';
import type { KnownParts } from './chunks.ts';

/** Most messages of a request. A page sends its whole conversation, of which only the last message is read. */
const MAX_MESSAGES = 10_000;
const MAX_PARTS = 10_000;

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  toolCallId: z.string().optional(),
  toolName: z.string().optional(),
  input: z.unknown().optional(),
  state: z.string().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  approval: z
    .looseObject({ id: z.string().optional(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});

const messageSchema = z.looseObject({
  id: idSchema,
  role: z.enum(['system', 'user', 'assistant']),
  parts: boundedList(partSchema, MAX_PARTS),
});

/** Only one message of a request is validated, so the list shows what the messages are. */
const messagesSchema = boundedList(z.unknown(), MAX_MESSAGES).meta({
  description: 'Messages of the page, oldest first. Only the last message, or the one of `messageId`, is read.',
  override: {
    type: 'array',
    minItems: 1,
    maxItems: MAX_MESSAGES,
    items: omitDialect(z.toJSONSchema(messageSchema, { io: 'input' })),
  },
});

const QUESTION = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Where is my parcel?' }] } as const;
const EXAMPLES = [
  { id: 'support-42', trigger: 'submit-message' as const, messages: [QUESTION] },
  { id: 'support-42', trigger: 'regenerate-message' as const, messages: [QUESTION] },
];

export const chatRequestSchema = z
  .looseObject({
    id: idSchema.describe('Id of the chat, which is the id of the conversation.'),
    messages: messagesSchema,
    trigger: z.enum(['submit-message', 'regenerate-message']).default('submit-message'),
    messageId: idSchema.optional().describe('Message that is edited, answered or regenerated.'),
  })
  .meta({ id: 'ChatRequest', examples: EXAMPLES });

type Part = z.output<typeof partSchema>;
export type ChatMessage = z.output<typeof messageSchema>;

/** A request of `DefaultChatTransport`. */
export interface ChatRequest {
  readonly id: string;
  readonly trigger: 'submit-message' | 'regenerate-message';
  /** The message that is edited, answered or regenerated. */
  readonly messageId: string | undefined;
  /** The last message: the user's, or an assistant message with answers to its calls. */
  readonly message: ChatMessage;
}

/** @throws invalid_input with the field */
export function readChatRequest(body: unknown): ChatRequest {
  const { id, trigger, messageId, messages } = parseInput(chatRequestSchema, body);
  // An answer may belong to an earlier message than the last one (AI SDK 7).
  const named = messages.findLastIndex((message) => isObject(message) && message['id'] === messageId);
  const index = messageId !== undefined && named !== -1 ? named : messages.length - 1;
  const message = parseInput(messageSchema, messages[index], `messages[${index}]`);
  return { id, trigger, messageId, message };
}

/** @throws invalid_input for a message with files, or without text */
export function readUserText({ role, parts }: ChatMessage): string {
  if (role !== 'user') throw fieldError('invalid_input', 'messages', 'expected a user message at the end');
  const other = parts.find(({ type }) => type !== 'text' && !type.startsWith('data-'));
  if (other !== undefined) {
    throw fieldError('invalid_input', 'messages', `a user message may have text parts only, and got "${other.type}"`);
  }
  const text = parts.map((part) => part.text ?? '').join('');
  if (text === '') throw fieldError('invalid_input', 'messages', 'the user message has no text');
  return text;
}

/**
 * Reads from a message the answers to the calls that its turn waits for. Answers to decided calls are left out: a page that
 * was loaded again may run a call again.
 * @throws conflict if the message shows another call than the one that waits
 */
export function readAnswers(
  { parts }: ChatMessage,
  kind: 'tools' | 'approval',
  calls: readonly WaitingCall[],
): Record<string, CallAnswer> {
  const answers: Record<string, CallAnswer> = {};
  for (const part of takeValidSteps(parts).flat()) {
    const call = calls.find(({ id }) => id === part.toolCallId);
    if (call === undefined || (kind === 'tools' && call.decision !== undefined)) continue;
    const answer = kind === 'approval' ? readApproval(part) : readResult(part);
    if (answer !== undefined) answers[call.id] = { ...answer, hash: nameShownCall(part, call) };
  }
  return answers;
}

/** Returns the hash of the call that the page shows. The request for approval names the call, and a result does not. */
function nameShownCall({ approval, toolName, input }: Part, call: WaitingCall): string | undefined {
  const { hash } = readCallName(approval?.id ?? '');
  return hash ?? checkShownCall(call, { name: toolName, input }, 'messages');
}

/** Lists what the page has of a message, so that a response can continue it. */
export function listKnown({ parts }: ChatMessage): KnownParts {
  const steps = takeValidSteps(parts);
  const calls = steps.flat().filter(({ toolCallId }) => toolCallId !== undefined);
  return {
    steps: steps.length,
    results: idsOf(calls.filter(({ state = '' }) => state.startsWith('output-'))),
    approvals: idsOf(calls.filter(({ approval }) => approval !== undefined)),
    decisions: idsOf(calls.filter(({ approval }) => approval?.approved !== undefined)),
  };
}

function idsOf(calls: readonly Part[]): Set<string> {
  return new Set(calls.map(({ toolCallId = '' }) => toolCallId));
}

/** Splits the parts of a message into steps, without the steps that were restarted. */
function takeValidSteps(parts: readonly Part[]): Part[][] {
  const steps: Part[][] = [];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter((step) => !step.some(({ type }) => type === 'data-restart'));
}

function readApproval({ state, approval, output }: Part): CallAnswer | undefined {
  if (approval?.approved !== undefined) return decide(approval.approved, approval.reason);
  // AI SDK 5 has no approvals. Its pages answer with an output.
  if (state !== 'output-available') return undefined;
  const decision = z.object({ approved: z.boolean(), why: z.string().optional() }).safeParse(output);
  if (decision.success) return decide(decision.data.approved, decision.data.why);
  throw fieldError('invalid_input', 'messages', 'expected the output {approved, why?} for a call that needs approval');
}

function decide(approved: boolean, why: string | undefined): CallAnswer {
  return why === undefined ? { approved } : { approved, why };
}

function readResult({ state, output, errorText = 'the tool failed' }: Part): CallAnswer | undefined {
  if (state === 'output-error') return { content: errorText, isError: true };
  if (state !== 'output-available') return undefined;
  return { content: typeof output === 'string' ? output : JSON.stringify(output ?? null) };
}

function omitDialect({ $schema: _, ...schema }: { $schema?: string }): object {
  return schema;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
