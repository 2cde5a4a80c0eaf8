import { z } from 'zod';
import type { CallAnswer } from '../../client/index.ts';
import { boundedList } from '../../domain/bounded-schemas.ts';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import { readCallName } from '../front-end/call-names.ts';
import { type AgUiMessage, callOf, turnOf } from './events.ts';

const contentSchema = z.union([z.string(), boundedList(z.looseObject({ type: z.string() }), 1_000)]);
const messageSchema = z.looseObject({ id: z.string(), role: z.string() });
const resumeSchema = z.looseObject({
  interruptId: z.string(),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
});
const decisionSchema = z.looseObject({ approved: z.boolean(), why: z.string().optional() });

export const runInputSchema = z
  .looseObject({
    threadId: idSchema,
    runId: idSchema,
    messages: boundedList(messageSchema, 10_000),
    resume: boundedList(resumeSchema, 1_000).optional(),
  })
  .meta({
    id: 'RunAgentInput',
    examples: [
      { threadId: 'support-42', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'Where is my parcel?' }] },
    ],
  });

type RunInput = z.output<typeof runInputSchema>;

/** A request to run: to begin a turn, or to answer the calls that a turn waits for. */
export interface RunRequest {
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly AgUiMessage[];
  /** True if the front-end has messages of this very run, which `messages` leaves out. */
  readonly isRepeated?: boolean;
  /** Text of the new turn. Absent if the run answers calls. */
  readonly input?: string;
  readonly turn: string;
  readonly answers?: Readonly<Record<string, CallAnswer>>;
}

/** @throws invalid_input with the field */
export function readRunRequest(body: unknown): RunRequest {
  const input = parseInput(runInputSchema, body);
  const { threadId, runId, resume = [] } = input;
  // A front-end that repeats a run may have parts of its answer already. The run begins again without these.
  const messages = input.messages.filter(({ id }) => turnOf(id) !== runId);
  const isRepeated = messages.length < input.messages.length;
  const last = messages.at(-1);
  if (resume.length > 0) return { threadId, runId, messages, ...readResume(resume) };
  if (last?.role === 'tool') return { threadId, runId, messages, ...readToolMessages(messages) };
  if (last?.role === 'user') {
    const text = readText(last, messages.length - 1);
    if (text !== '') return { threadId, runId, messages, isRepeated, turn: runId, input: text };
  }
  const expected = 'expected a user message or tool messages at the end, or `resume`';
  throw fieldError('invalid_input', 'messages', expected);
}

type Answers = Pick<RunRequest, 'turn' | 'answers'>;

function readResume(resume: NonNullable<RunInput['resume']>): Answers {
  const answers: Record<string, CallAnswer> = {};
  for (const [index, { interruptId, status, payload }] of resume.entries()) {
    const { id, hash } = readCallName(callOf(interruptId));
    const decision =
      status === 'cancelled'
        ? { approved: false, why: 'cancelled' }
        : typeof payload === 'boolean'
          ? { approved: payload }
          : readDecision(payload, `resume[${index}].payload`);
    answers[id] = { ...decision, hash };
  }
  return { turn: readTurn(resume[0]?.interruptId ?? '', 'resume[0].interruptId'), answers };
}

function readDecision(payload: unknown, at: string): CallAnswer {
  const { approved, why } = parseInput(decisionSchema, payload, at);
  return why === undefined ? { approved } : { approved, why };
}

/** Reads the results behind the last message with calls, which the front-end ran. */
function readToolMessages(messages: readonly AgUiMessage[]): Answers {
  const answers: Record<string, CallAnswer> = {};
  const first = messages.findLastIndex(({ role }) => role !== 'tool') + 1;
  for (const [offset, message] of messages.slice(first).entries()) {
    const content = readText(message, first + offset);
    const isError = typeof message['error'] === 'string';
    answers[String(message['toolCallId'])] = { content, ...(isError && { isError }) };
  }
  const caller = messages.findLast((message) => message.role === 'assistant' && Array.isArray(message['toolCalls']));
  return { turn: readTurn(caller?.id ?? '', 'messages'), answers };
}

function readTurn(id: string, at: string): string {
  return parseInput(idSchema, turnOf(id), at);
}

function readText(message: AgUiMessage, index: number): string {
  const content = parseInput(contentSchema, message['content'], `messages[${index}].content`);
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      if (part.type === 'text' && typeof part['text'] === 'string') return part['text'];
      throw fieldError('invalid_input', `messages[${index}].content`, `expected text, and got "${part.type}"`);
    })
    .join('');
}
