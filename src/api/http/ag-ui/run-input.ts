import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { idSchema } from '../../../domain/ids.ts';
import { isMapping, parseInput } from '../../../domain/parse.ts';
import type { CallAnswer } from '../../client/index.ts';
import { readCallName } from '../front-end/call-names.ts';
import { type EventForm, readEventForm } from './event-form.ts';
import type { AgUiMessage } from './events.ts';
import { readMessageFiles, readMessageText } from './message-content.ts';
import { callOf, turnOf } from './message-names.ts';
import { type RunOwn, readRunOwn, readState, runOwnFields } from './run-own.ts';

const messageSchema = z.looseObject({ id: z.string(), role: z.string() });
const resumeSchema = z.looseObject({
  interruptId: z.string(),
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
});
/** Strict: if an edit of the arguments were ignored, a call would run that the person did not approve. */
const decisionSchema = z.strictObject({
  approved: z.boolean(),
  why: z.string().optional(),
  reason: z.string().optional(),
});
/** Old form of a resume, which names no interrupt. */
const commandSchema = z.looseObject({ command: z.looseObject({ resume: z.unknown() }) });
/** Properties for turnfold itself. AG-UI has no field for the message that an edit replaces. */
const optionsSchema = z.strictObject({ replaces: z.string().min(1).optional() });

export const runInputSchema = z
  .looseObject({
    threadId: idSchema,
    runId: idSchema,
    protocolVersion: z
      .string()
      .optional()
      .describe('Version of the client. Absent: events have the form of clients before 1.0.'),
    messages: boundedList(messageSchema, 10_000),
    resume: boundedList(resumeSchema, 1_000).nullish(),
    ...runOwnFields,
  })
  .meta({
    id: 'RunAgentInput',
    examples: [
      { threadId: 'support-42', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'Where is my parcel?' }] },
    ],
  });

type RunInput = z.output<typeof runInputSchema>;

export interface RunRequest {
  readonly threadId: string;
  readonly runId: string;
  readonly messages: readonly AgUiMessage[];
  /** True if the front-end sent messages of this very run, which `messages` leaves out. */
  readonly isRepeated: boolean;
  readonly form: EventForm;
  readonly own: RunOwn;
  /** User message that the last message replaces. */
  readonly replaces: string | undefined;
  /** State of the front-end. Undefined if empty. */
  readonly state: unknown;
  readonly resume?: Resume;
}

interface Resume {
  readonly turn: string;
  readonly answers: Readonly<Record<string, CallAnswer>>;
}

export function readRunRequest(body: unknown): RunRequest {
  const input = parseInput(runInputSchema, body);
  const { threadId, runId, forwardedProps } = input;
  const resume = input.resume ?? [];
  if (resume.length === 0 && commandSchema.safeParse(forwardedProps).data?.command.resume !== undefined) {
    const why = 'this form of a resume names no interrupt. Send `resume`, a list with the id of each interrupt';
    throw fieldError('invalid_input', 'forwardedProps.command.resume', why);
  }
  const messages = input.messages.filter(({ id }) => turnOf(id) !== runId);
  const isRepeated = messages.length < input.messages.length;
  const form = readEventForm(input.protocolVersion);
  const state = readState(input.state);
  const replaces = readReplaces(forwardedProps);
  const request = { threadId, runId, messages, form, state, replaces, own: readRunOwn(input, messages) };
  if (resume.length > 0) return { ...request, isRepeated: false, resume: readResume(resume) };
  const last = messages.at(-1);
  const isComplete = last?.role === 'tool' || (last?.role === 'user' && hasContent(last, messages.length - 1));
  if (isComplete) return { ...request, isRepeated };
  const expected = 'expected a user message or tool messages at the end, or `resume`';
  throw fieldError('invalid_input', 'messages', expected);
}

/** The runtime of assistant-ui puts the properties of a message into `runConfig`. */
function readReplaces(properties: unknown): string | undefined {
  const { turnfold, runConfig }: Record<string, unknown> = isMapping(properties) ? properties : {};
  const given = turnfold ?? (isMapping(runConfig) ? runConfig['turnfold'] : undefined);
  return given === undefined ? undefined : parseInput(optionsSchema, given, 'forwardedProps.turnfold').replaces;
}

function hasContent(message: AgUiMessage, index: number): boolean {
  readMessageFiles(message, index);
  return readMessageText(message, index) !== '';
}

function readResume(resume: NonNullable<RunInput['resume']>): Resume {
  const turn = readTurnName(resume[0]?.interruptId ?? '', 'resume[0].interruptId');
  const answers = new Map<string, CallAnswer>();
  for (const [index, { interruptId, status, payload }] of resume.entries()) {
    const at = `resume[${index}]`;
    const { id, hash } = readCallName(callOf(interruptId));
    if (turnOf(interruptId) !== turn) {
      const why = 'this interrupt belongs to another turn than that of resume[0]. Send one request for each turn';
      throw fieldError('invalid_input', `${at}.interruptId`, why);
    }
    if (answers.has(id)) {
      const why = 'an earlier entry of `resume` answers the same call. Send one entry per call';
      throw fieldError('invalid_input', `${at}.interruptId`, why);
    }
    answers.set(id, { ...readDecision(status, payload, `${at}.payload`), hash });
  }
  return { turn, answers: Object.fromEntries(answers) };
}

function readDecision(status: 'resolved' | 'cancelled', payload: unknown, at: string): CallAnswer {
  if (status === 'cancelled') {
    if (payload === undefined || payload === null) return { approved: false, why: 'cancelled' };
    const why = 'a `cancelled` entry must not have a payload. Remove the payload, or use the status `resolved`';
    throw fieldError('invalid_input', at, why);
  }
  if (typeof payload === 'boolean') return { approved: payload };
  const { approved, reason, why = reason } = parseInput(decisionSchema, payload, at);
  return why === undefined ? { approved } : { approved, why };
}

export function readTurnName(id: string, at: string): string {
  return parseInput(idSchema, turnOf(id), at);
}
