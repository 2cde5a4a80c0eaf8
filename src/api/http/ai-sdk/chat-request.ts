import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { MAX_MESSAGE_BYTES } from '../../../domain/message.ts';
import { parseInput } from '../../../domain/parse.ts';
import { joinPartTexts } from '../../../domain/parts.ts';
import type { WaitingCall } from '../../../domain/turn.ts';
import type { CallAnswer, InputPart } from '../../client/index.ts';
import { checkMessageBytes } from '../../client/weigh-message.ts';
import { checkShownCall, readCallName } from '../front-end/call-names.ts';
import { type ChunkPosition, readChunkPosition } from './chunk-position.ts';
import type { KnownParts } from './chunks.ts';
import type { ChatInput } from './turn-names.ts';

/** A page sends its whole conversation, of which only the new messages are read. */
const MAX_MESSAGES = 10_000;
const MAX_PARTS = 10_000;
const FILE_URL = /^(?:https?:\/\/|data:[\w.+-]+\/[\w.+-][^,]*;base64,)/;

const partSchema = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  toolCallId: z.string().optional(),
  toolName: z.string().optional(),
  input: z.unknown().optional(),
  state: z.string().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
  url: z.string().optional(),
  mediaType: z.string().optional(),
  filename: z.string().optional(),
  approval: z
    .looseObject({ id: z.string().optional(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});

export const pageMessageSchema = z.looseObject({
  id: idSchema,
  role: z.enum(['system', 'user', 'assistant']),
  parts: boundedList(partSchema, MAX_PARTS),
});

const { $schema: _dialect, ...describedMessage } = z.toJSONSchema(pageMessageSchema, { io: 'input' });

/** Messages are validated when they are read. The list only documents them. */
const messagesSchema = boundedList(z.unknown(), MAX_MESSAGES)
  .min(1, 'expected at least one message')
  .meta({
    description:
      'Messages of the page, oldest first. Read are the user messages behind the last answer, decisions on open calls in any message, and the message of `messageId`.',
    override: {
      type: 'array',
      minItems: 1,
      maxItems: MAX_MESSAGES,
      items: describedMessage as object,
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
    after: z
      .string()
      .max(4_000)
      .optional()
      .describe('Id of the last event that arrived before the stream was cut. The answer continues behind this event.'),
  })
  .meta({ id: 'ChatRequest', examples: EXAMPLES });

type Part = z.output<typeof partSchema>;
export type PageMessage = z.output<typeof pageMessageSchema>;

export interface ChatRequest {
  readonly id: string;
  readonly trigger: 'submit-message' | 'regenerate-message';
  readonly messageId: string | undefined;
  /** The last message, or the one of `messageId`: the user's, or an answer with answers to its calls. */
  readonly message: PageMessage;
  /** Other user messages behind the last answer, oldest first. Each is a turn of its own. */
  readonly others: readonly PageMessage[];
  /** Place from which the stream of an earlier request goes on. */
  readonly after: ChunkPosition | undefined;
  /** Finds the answer of a turn among the messages. Throws invalid_input if the message is invalid. */
  readonly findAnswer: (turn: string) => PageMessage | undefined;
}

export function readChatRequest(body: unknown): ChatRequest {
  const { id, trigger, messageId, messages, after: place } = parseInput(chatRequestSchema, body);
  const after = place === undefined ? undefined : readChunkPosition(place, 'after');
  // In AI SDK 6 and 7, a page may answer calls of an earlier message than the last one.
  const named = messages.findLastIndex((message) => readField(message, 'id') === messageId);
  if (messageId !== undefined && named === -1 && trigger === 'submit-message') {
    throw fieldError('invalid_input', 'messageId', 'no message of `messages` has this id');
  }
  const index = messageId !== undefined && named !== -1 ? named : messages.length - 1;
  const read = (at: number): PageMessage => parseInput(pageMessageSchema, messages[at], `messages[${at}]`);
  // Editing or regenerating a message removes everything behind it.
  const isReplaced = trigger === 'regenerate-message' || readField(messages[index], 'role') === 'user';
  const shown = isReplaced ? messages.slice(0, index) : messages;
  const findAnswer = (turn: string): PageMessage | undefined => {
    const at = shown.findLastIndex((message) => {
      return readField(message, 'id') === turn && readField(message, 'role') === 'assistant';
    });
    return at === -1 ? undefined : read(at);
  };
  const message = read(index);
  return { id, trigger, messageId, message, others: readOthers(messages, index), after, findAnswer };
}

/** Reads the user messages directly before the sent message. An invalid one was refused when it was sent. */
function readOthers(messages: readonly unknown[], index: number): PageMessage[] {
  const isAnswer = readField(messages[index], 'role') === 'assistant';
  const before = isAnswer ? messages : messages.slice(0, index);
  const last = before.findLastIndex((message) => readField(message, 'role') !== 'user');
  return before.slice(last + 1).flatMap((message) => {
    const { data } = pageMessageSchema.safeParse(message);
    return data !== undefined && explainUnreadable(data) === undefined && !isTooLarge(data) ? [data] : [];
  });
}

/** @param field member of the request that has the message (`messages`) */
export function readUserInput(message: PageMessage, field: 'message' | 'messages' = 'messages'): ChatInput {
  const why = explainUnreadable(message);
  if (why !== undefined) throw fieldError('invalid_input', field, why);
  const text = joinText(message);
  checkMessageBytes({ role: 'user', content: text }, field);
  const parts = message.parts.flatMap((part) => (part.type === 'file' ? [readFile(part)] : []));
  return { text, ...(parts.length > 0 && { parts }) };
}

function readFile({ url = '', mediaType = '', filename }: Part): InputPart {
  const type = mediaType.startsWith('image/') ? 'image' : 'file';
  return { type, url, mediaType, ...(filename !== undefined && { name: filename }) };
}

function explainUnreadable(message: PageMessage): string | undefined {
  const { role, parts } = message;
  if (role !== 'user') return 'expected a user message at the end';
  const other = parts.find(({ type }) => type !== 'text' && type !== 'file' && !type.startsWith('data-'));
  if (other !== undefined) return `a user message may have text and files only, and got "${other.type}"`;
  const foreign = parts.find(({ type, url = '' }) => type === 'file' && !FILE_URL.test(url));
  if (foreign !== undefined) return 'a file has an address that begins with https:, http: or data: with base64';
  return joinText(message) === '' ? 'the user message has no text' : undefined;
}

function isTooLarge(message: PageMessage): boolean {
  return Buffer.byteLength(JSON.stringify({ role: 'user', content: joinText(message) })) > MAX_MESSAGE_BYTES;
}

function joinText({ parts }: PageMessage): string {
  return joinPartTexts(parts.map((part) => part.text ?? ''));
}

/** Leaves out results of calls that have one: a page that was loaded again may run a call again. */
export function readMessageAnswers(
  { parts }: PageMessage,
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

/** Returns decisions whose outcome the page lacks, if the request for approval named the call. */
export function readNamedDecisions({ parts }: PageMessage): Record<string, CallAnswer> {
  const answers: Record<string, CallAnswer> = {};
  for (const { state, toolCallId, approval } of takeValidSteps(parts).flat()) {
    const { hash } = readCallName(approval?.id ?? '');
    if (state !== 'approval-responded' || toolCallId === undefined || hash === undefined) continue;
    if (approval?.approved !== undefined) answers[toolCallId] = { ...decide(approval.approved, approval.reason), hash };
  }
  return answers;
}

/** A request for approval names the hash of its call. A result does not, so its name and input are compared. */
function nameShownCall({ approval, toolName, input }: Part, call: WaitingCall): string | undefined {
  const { hash } = readCallName(approval?.id ?? '');
  return hash ?? checkShownCall(call, { name: toolName, input }, 'messages');
}

export function listKnown({ parts }: PageMessage): KnownParts {
  const steps = takeValidSteps(parts);
  const calls = steps.flat().filter(({ toolCallId }) => toolCallId !== undefined);
  return {
    steps: steps.length,
    results: idsOf(calls.filter(({ state = '' }) => state.startsWith('output-'))),
    approvals: idsOf(calls.filter(({ approval }) => approval !== undefined)),
    decisions: idsOf(calls.filter(({ approval }) => approval?.approved !== undefined)),
    approved: idsOf(calls.filter(({ approval }) => approval?.approved === true)),
  };
}

function idsOf(calls: readonly Part[]): Set<string> {
  return new Set(calls.map(({ toolCallId = '' }) => toolCallId));
}

/** Returns the model steps that were not restarted. Data parts before the first step are not a step. */
function takeValidSteps(parts: readonly Part[]): Part[][] {
  const steps: Part[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  const [first = [], ...rest] = steps;
  const named = first.some(({ type }) => !type.startsWith('data-')) ? steps : rest;
  return named.filter((step) => !step.some(({ type }) => type === 'data-restart'));
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

function readField(value: unknown, name: 'id' | 'role'): unknown {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}
