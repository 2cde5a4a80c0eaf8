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

/** The model broke its contract. `why` names the field, never its content. */
interface UnusableAnswer {
  readonly status: 'unusable';
  readonly why: string;
}

export type ReadAnswer =
  | { readonly status: 'read'; readonly message: Message; readonly outcome: StepOutcome }
  | UnusableAnswer;

/** The request that a model answered. */
export interface AnsweredRequest {
  /** Key of its step. */
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
  request: AnsweredRequest,
  { weigh }: Pick<PreparedAgent, 'weigh'>,
): Promise<ReadAnswer> {
  const { key, head, version } = request;
  const adopted = adoptAnswer(answer, head);
  if (adopted.status === 'unusable') return adopted;
  const { message } = adopted;
  const weighed = await weigh(message);
  if (weighed.bytes > MAX_MESSAGE_BYTES) {
    return { status: 'unusable', why: `answer of ${weighed.bytes} bytes, at most ${MAX_MESSAGE_BYTES} are allowed` };
  }
  const recorded = { key, expectedHead: head, closes: [], answeredVersion: version, ...readUsage(answer) };
  const { toolCalls = [] } = message;
  const { end = 'complete' } = answer;
  if (end === 'complete') {
    const opens = toolCalls.map(({ id, providerId }) => ({ id, providerId }));
    const outcome = { ...recorded, messages: [weighed], opens, ...readAnchor(answer, request) };
    return { status: 'read', message, outcome };
  }
  const results = await Promise.all(toolCalls.map(({ id }) => weigh(refuseUnfinished(id, end))));
  // The anchor covers the answer alone, so it would miss the results.
  const anchor = results.length === 0 ? readAnchor(answer, request) : {};
  return {
    status: 'read',
    message,
    outcome: { ...recorded, messages: [weighed, ...results], opens: [], end, ...anchor },
  };
}

function readUsage(answer: ModelAnswer): Pick<StepOutcome, 'usage'> {
  const usage = checkUsage(answer.usage);
  return usage === undefined ? {} : { usage: { inputTokens: usage.inputTotal, outputTokens: usage.output } };
}

/** The provider's count as the anchor of later sizes. Left out if there is none, or if it covers a part of the request. */
function readAnchor(answer: ModelAnswer, request: AnsweredRequest): Pick<StepOutcome, 'anchor'> {
  const { version, fingerprint, countedTokens, pictureTokens } = request;
  const usage = checkUsage(answer.usage);
  // A provider may count a picture as a twentieth of our count. Without pictures its count still has to be whole.
  if (usage === undefined || !isWholeCount(usage.inputTotal, countedTokens - pictureTokens)) return {};
  const tokens = usage.inputTotal + usage.outputKept;
  return { anchor: { tokens, version, ...(fingerprint !== undefined && { fingerprint }) } };
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

function adoptAnswer(
  { content, toolCalls, raw }: ModelAnswer,
  head: number,
): { readonly status: 'adopted'; readonly message: Message } | UnusableAnswer {
  const hasCalls = toolCalls.length > 0;
  const fields = {
    role: 'assistant',
    content: hasCalls || content.trim() !== '' ? content : EMPTY_ANSWER,
    ...(hasCalls ? { toolCalls } : {}),
    ...(raw === undefined ? {} : { raw }),
  };
  try {
    const message = parseInput(messageSchema, fields, 'answer');
    const [adopted] = adoptMessages([message], head + 1, [], 'answer').messages;
    return { status: 'adopted', message: adopted as Message };
  } catch (error) {
    if (isTurnfoldError(error)) return { status: 'unusable', why: error.message };
    throw error;
  }
}
