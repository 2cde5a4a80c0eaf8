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

/** Content of an answer without text. Providers refuse an empty message in a later request. */
const EMPTY_ANSWER = '(empty)';

export type ReadAnswer =
  | { readonly status: 'read'; readonly message: Message; readonly outcome: StepOutcome }
  /** The model broke its contract. `why` names the field, never its content. */
  | { readonly status: 'unusable'; readonly why: string };

export interface AnsweredStep {
  readonly key: string;
  /** End of the log. Call ids are derived from it. */
  readonly head: number;
  /** Version that was sent. The provider's count holds for this version and `fingerprint` alone. */
  readonly version: number;
  /** Hash of model, system prompt and tools. */
  readonly fingerprint?: string | undefined;
  /** Our own size of the request, without anchor and calibration. */
  readonly countedTokens: number;
  /** Part of `countedTokens` for pictures. */
  readonly pictureTokens: number;
}

/** Turns a model's answer into the outcome of its step: with call ids of the log, weighed, to be recorded behind `head`. */
export async function readAnswer(
  answer: ModelAnswer,
  step: AnsweredStep,
  prepared: Pick<PreparedAgent, 'weigh'>,
): Promise<ReadAnswer> {
  const { key, head, version } = step;
  let message: Message;
  try {
    message = adoptAnswer(answer, head);
  } catch (error) {
    if (isTurnfoldError(error)) return { status: 'unusable', why: error.message };
    throw error;
  }
  const weighed = await prepared.weigh(message);
  if (weighed.bytes > MAX_MESSAGE_BYTES) {
    return { status: 'unusable', why: `answer of ${weighed.bytes} bytes, at most ${MAX_MESSAGE_BYTES} are allowed` };
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
  const anchor = readAnchor(usage, step);
  return { status: 'read', message, outcome: { ...recorded, messages: [weighed], opens, ...(anchor && { anchor }) } };
}

/** The provider's count as the anchor of later sizes. Undefined: there is none, or it covers a part of the request. */
function readAnchor(usage: ReturnType<typeof checkUsage>, step: AnsweredStep): StepOutcome['anchor'] {
  const { version, fingerprint, countedTokens, pictureTokens } = step;
  // A provider may count a picture as a twentieth of our count. Without pictures its count still has to be whole.
  if (usage === undefined || !isWholeCount(usage.inputTotal, countedTokens - pictureTokens)) return undefined;
  return { tokens: usage.inputTotal + usage.outputKept, version, ...(fingerprint !== undefined && { fingerprint }) };
}

const UNFINISHED: Readonly<Record<AnswerEnd, string>> = {
  cut_off: 'the answer met the output cap before this call was complete. The call was not run. Call again with less.',
  refusal: 'the answer was declined before this call was complete. The call was not run.',
};

/**
 * The result of a call in an incomplete answer. No such call is run: its truncated arguments may parse and mean something
 * else, such as half a list.
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
