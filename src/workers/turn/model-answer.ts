import { isTurnfoldError } from '../../domain/errors.ts';
import { adoptMessages } from '../../domain/history.ts';
import { MAX_MESSAGE_BYTES, type Message, messageSchema } from '../../domain/message.ts';
import type { ModelAnswer } from '../../domain/model.ts';
import { parseInput } from '../../domain/parse.ts';
import type { StepOutcome } from '../../domain/ports/turn-store.ts';
import { isWholeCount } from '../../domain/size.ts';
import type { AnswerEnd } from '../../domain/turn.ts';
import { checkUsage } from '../../domain/usage.ts';
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
  /** the version that was sent, and what it was sent with: what the provider counted holds for no other */
  readonly version: number;
  readonly fingerprint?: string | undefined;
  /** our own size of what was sent, without anchor and calibration */
  readonly countedTokens: number;
  /** of these, what its pictures are taken for */
  readonly pictureTokens: number;
}

/** Makes a model's answer the outcome of its step: with the log's call ids, weighed, ready to be recorded behind `head`. */
export async function readAnswer(
  answer: ModelAnswer,
  { key, head, version, fingerprint, countedTokens, pictureTokens }: AnsweredStep,
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
  const usage = checkUsage(answer.usage);
  const end = answer.end === 'complete' ? undefined : answer.end;
  const recorded = {
    key,
    expectedHead: head,
    closes: [],
    answeredVersion: version,
    ...(usage && { usage: { inputTokens: usage.inputTotal, outputTokens: usage.output } }),
    ...(end && { end }),
  };
  if (end !== undefined && toolCalls.length > 0) {
    const results = await Promise.all(toolCalls.map(({ id }) => prepared.weigh(refuseUnfinished(id, end))));
    return { status: 'read', message, outcome: { ...recorded, messages: [weighed, ...results], opens: [] } };
  }
  const opens = toolCalls.map(({ id, providerId }) => ({ id, providerId }));
  // Of a picture the provider may count a twentieth of what we do: that alone does not make its count a part.
  const anchor = usage !== undefined &&
    isWholeCount(usage.inputTotal, countedTokens - pictureTokens) && {
      tokens: usage.inputTotal + usage.outputKept,
      version,
      ...(fingerprint !== undefined && { fingerprint }),
    };
  return { status: 'read', message, outcome: { ...recorded, messages: [weighed], opens, ...(anchor && { anchor }) } };
}

const UNFINISHED: Readonly<Record<AnswerEnd, string>> = {
  cut_off: 'the answer met the output cap before this call was whole; it was not run. Call again, shorter.',
  refusal: 'the answer was declined before this call was whole; it was not run.',
};

/**
 * The answer to a call of an answer that is not complete. What is there of its arguments may read as whole, and mean
 * something else: half a list, a flag that is missing. None of them is run.
 */
function refuseUnfinished(toolCallId: string, end: AnswerEnd): Message {
  return { role: 'tool', content: `${end}: ${UNFINISHED[end]}`, toolCallId, isError: true };
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
