import { isTurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import { MAX_MESSAGE_BYTES, type Message, messageSchema } from '../../domain/message.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { parseInput } from '../../domain/parse.ts';
import type { StepOutcome } from '../../domain/ports/turn-store.ts';
import type { PreparedAgent } from '../prepared-agent.ts';

/** Stands for an answer without text: providers refuse an empty message in a later request. */
const EMPTY_ANSWER = '(empty)';

export type ReadAnswer =
  | { readonly status: 'read'; readonly message: Message; readonly outcome: StepOutcome }
  /** the model broke its contract; `why` names the field, never its content */
  | { readonly status: 'unusable'; readonly why: string };

export interface AnsweredStep {
  readonly key: string;
  /** the log's end: call ids are derived from it */
  readonly head: number;
  /** the version that was sent: what the provider counted holds for no other */
  readonly version: number;
}

/** Makes a model's answer the outcome of its step: with the log's call ids, weighed, ready to be recorded behind `head`. */
export async function readAnswer(
  answer: ModelAnswer,
  { key, head, version }: AnsweredStep,
  prepared: Pick<PreparedAgent, 'weigh'>,
): Promise<ReadAnswer> {
  let message: Message;
  try {
    message = adoptAnswer(answer, head);
  } catch (error) {
    if (isTurnfoldError(error)) return { status: 'unusable', why: error.message };
    throw error;
  }
  const weighed = await prepared.weigh(message);
  if (weighed.bytes > MAX_MESSAGE_BYTES) {
    return { status: 'unusable', why: `answer of ${weighed.bytes} bytes; at most ${MAX_MESSAGE_BYTES} are kept` };
  }
  const { toolCalls = [] } = message;
  const { usage } = answer;
  const counted = usage === undefined ? {} : { usage: { inputTokens: usage.inputTotal, outputTokens: usage.output } };
  if (answer.end === 'cut_off' && toolCalls.length > 0) {
    const results = await Promise.all(toolCalls.map(({ id }) => prepared.weigh(refuseCutOff(id))));
    const outcome = { key, messages: [weighed, ...results], expectedHead: head, opens: [], closes: [], ...counted };
    return { status: 'read', message, outcome };
  }
  const opens = toolCalls.map(({ id, providerId }) => ({ id, providerId }));
  const measured =
    usage === undefined ? {} : { ...counted, anchor: { tokens: usage.inputTotal + usage.outputKept, version } };
  return {
    status: 'read',
    message,
    outcome: { key, messages: [weighed], expectedHead: head, opens, closes: [], ...measured },
  };
}

/**
 * The answer to a call of an answer that met the output cap. What is there of its arguments may read as whole, and mean
 * something else: half a list, a flag that is missing. None of them is run.
 */
function refuseCutOff(toolCallId: string): Message {
  const content =
    'cut_off: the answer met the output cap before this call was whole; it was not run. Call again, shorter.';
  return { role: 'tool', content, toolCallId, isError: true };
}

/** @throws invalid_input, duplicate_call */
function adoptAnswer({ content, toolCalls, raw }: ModelAnswer, head: number): Message {
  const hasCalls = toolCalls.length > 0;
  const given = {
    role: 'assistant',
    content: hasCalls || content.trim() !== '' ? content : EMPTY_ANSWER,
    ...(hasCalls ? { toolCalls } : {}),
    ...(raw === undefined ? {} : { raw }),
  };
  const message = parseInput(messageSchema, given, 'answer');
  return adoptMessages([message], head + 1, [], 'answer').messages[0] as Message;
}
