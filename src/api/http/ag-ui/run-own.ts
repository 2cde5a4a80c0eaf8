import { z } from 'zod';
import { boundedList } from '../../../domain/bounded-schemas.ts';
import { fieldError } from '../../../domain/errors.ts';
import { isMapping, parseInput } from '../../../domain/parse.ts';
import { MAX_CONTEXT_BYTES, writeTurnContext } from '../../../domain/turn-context.ts';
import { OWN_LIMITS, type OwnTool, turnOwnFields } from '../../../domain/turn-own.ts';
import type { AgUiMessage } from './events.ts';
import { readMessageText } from './message-content.ts';

/** Maximum number of entries of `context`. Their size has a limit of its own. */
const MAX_ENTRIES = 1_000;

export const runOwnFields = {
  tools: boundedList(
    z.looseObject({
      name: z.string(),
      description: z.string().nullish(),
      parameters: z.unknown().optional(),
    }),
    OWN_LIMITS.tools,
  )
    .nullish()
    .describe('Tools of the front-end. The turn waits for their results, which are tool messages of a later run.'),
  context: boundedList(z.looseObject({ description: z.string(), value: z.unknown() }), MAX_ENTRIES)
    .nullish()
    .describe('Facts of the front-end, which the model reads as instructions of the turn. At most 64 KiB.'),
  state: z
    .unknown()
    .optional()
    .describe('State that the front-end shares with the agent. Tools read it as `context.state`. At most 16 KiB.'),
  forwardedProps: z
    .unknown()
    .optional()
    .describe(
      'Properties of the front-end. Tools read them as `context.forwardedProps`. `turnfold.replaces` names the user message that an edit replaces.',
    ),
};

const runOwnSchema = z.looseObject(runOwnFields);
type Given = z.output<typeof runOwnSchema>;

/** Parts of a run that apply to its own turn only. */
export interface RunOwn {
  readonly tools?: readonly OwnTool[];
  readonly instructions?: string;
  /** Data for tools: the state of the front-end and its properties. */
  readonly context?: Readonly<Record<string, unknown>>;
}

export function readRunOwn(given: Given, messages: readonly AgUiMessage[]): RunOwn {
  const tools = readTools(given.tools ?? []);
  const instructions = readInstructions(given.context ?? [], messages);
  const context = readData(given);
  return {
    ...(tools.length > 0 && { tools }),
    ...(instructions !== '' && { instructions }),
    ...(context !== undefined && { context }),
  };
}

/** State that a run brings. An empty state is none, because clients always send one. */
export function readState(state: unknown): unknown {
  if (state === undefined || state === null) return undefined;
  return isMapping(state) && Object.keys(state).length === 0 ? undefined : state;
}

const toolsSchema = z.object({ tools: turnOwnFields.tools.unwrap() });

/** Tools without parameters take an empty object, as in other backends of AG-UI. */
function readTools(given: NonNullable<Given['tools']>): readonly OwnTool[] {
  const tools = given.map(({ name, description, parameters }) => ({
    name,
    ...(typeof description === 'string' && { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
  }));
  return parseInput(toolsSchema, { tools }).tools;
}

/** The thread belongs to turnfold, so system messages of the front-end apply to the turn of their run. */
function readInstructions(context: NonNullable<Given['context']>, messages: readonly AgUiMessage[]): string {
  const systems = messages.flatMap((message, index) => {
    const isInstruction = message.role === 'system' || message.role === 'developer';
    const text = isInstruction ? readMessageText(message, index) : '';
    return text === '' ? [] : [text];
  });
  const facts = context.map(({ description, value }) => `- ${description}: ${writeValue(value)}`);
  const listed = facts.length === 0 ? [] : [`The application gives this context:\n${facts.join('\n')}`];
  const text = [...systems, ...listed].join('\n\n');
  const bytes = Buffer.byteLength(text);
  const limit = OWN_LIMITS.instructionsBytes;
  if (bytes <= limit) return text;
  const field = facts.length === 0 ? 'messages' : 'context';
  const why = `context and system messages of a run have at most ${limit} bytes together, and got ${bytes}`;
  throw fieldError('message_too_large', field, why);
}

function writeValue(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function readData(given: Given): RunOwn['context'] {
  const state = readState(given.state);
  const forwardedProps = readProperties(given.forwardedProps);
  const data = { ...(state !== undefined && { state }), ...(forwardedProps && { forwardedProps }) };
  if (Object.keys(data).length === 0) return undefined;
  const field = state === undefined ? 'forwardedProps' : 'state';
  const bytes = Buffer.byteLength(writeTurnContext(data, field));
  if (bytes <= MAX_CONTEXT_BYTES) return data;
  throw fieldError('message_too_large', field, `state and forwardedProps have at most ${MAX_CONTEXT_BYTES} bytes`);
}

/** CopilotKit puts a token into the properties, and sends it as a header, too. Secrets are never stored. */
function readProperties(given: unknown): Readonly<Record<string, unknown>> | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isMapping(given)) throw fieldError('invalid_input', 'forwardedProps', 'expected a JSON object');
  const { authorization: _token, command: _command, turnfold: _options, ...rest } = given;
  return Object.keys(rest).length === 0 ? undefined : rest;
}
