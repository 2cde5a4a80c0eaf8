import { isTurnfoldError } from '../../domain/errors.ts';
import { askForRepair, checkFinalAnswer, isAskedForRepair } from '../../domain/final-answer.ts';
import { adoptMessages } from '../../domain/history.ts';
import { MAX_MESSAGE_BYTES, type Message } from '../../domain/message.ts';
import type { ModelAnswer, ModelProfile } from '../../domain/model.ts';
import { type CountFault, findCountFault } from '../../domain/provider-count.ts';
import { contextSize } from '../../domain/size.ts';
import type { AnswerEnd } from '../../domain/turn.ts';
import { checkUsage, toTurnUsage } from '../../domain/usage.ts';
import type { StepOutcome } from '../../store/turn-steps.ts';
import { countPictures } from '../../wire/tokens/message-tokens.ts';
import type { PreparedAgent } from '../prepared-agent.ts';
import type { SentContext } from './context-cache.ts';
import { leaveUnanswered } from './refused-request.ts';
import { requestUnderLease } from './turn-passes.ts';
import type { RunFacts, RunningTurn, RunState } from './turn-states.ts';

/** Stands for the text of a refusal without text. Providers refuse later requests that contain an empty message. */
const EMPTY_REFUSAL = '(empty)';

/** An answer that cannot be recorded. `why` names the wrong field, but never its content. */
interface UnusableAnswer {
  readonly status: 'unusable';
  readonly why: string;
}

type ReadAnswer =
  | { readonly status: 'read'; readonly message: Message; readonly outcome: StepOutcome }
  | UnusableAnswer;

/** `countFault`: why the provider's count of the sent request is not used. `unknown`: turnfold has no count of its own. */
interface JudgedRequest {
  readonly countFault?: CountFault | 'unknown';
}

interface SentRequest extends JudgedRequest {
  readonly key: string;
  /** Last seq of the log. The ids of new tool calls are derived from the seq of their message. */
  readonly head: number;
  /** Version that was sent. The provider's count applies only to this version and `fingerprint`. */
  readonly version: number;
  readonly fingerprint?: string | undefined;
}

/** Records the answer of a model call. A final answer is recorded by the settlement of the turn instead. */
export async function recordModelAnswer(
  run: RunningTurn,
  { key, tokens, answer, sent }: RunState<'record'>,
): Promise<RunFacts['record']> {
  const { journal, prepared } = run;
  const { head } = journal.conversation;
  const { fingerprint } = prepared.overhead;
  const judged = await judgeCount(run, answer, sent);
  const read = await readModelAnswer(answer, { key, head, version: sent.version, fingerprint, ...judged }, prepared);
  if (read.status === 'unusable') return read;
  const { message, outcome: made } = read;
  const outcome = { ...made, requestTokens: tokens };
  const answered = { key, seq: head + 1, message, end: outcome.end };
  const repair = findRepair(prepared, message, outcome.end);
  if (repair !== undefined && !isAskedForRepair(sent.messages)) {
    // The provider's count does not include the added message.
    const { anchor: _, ...uncounted } = outcome;
    await journal.record({ ...uncounted, messages: [...outcome.messages, await prepared.weigh(askForRepair(repair))] });
    return { status: 'to_correct' };
  }
  if (message.toolCalls === undefined) {
    const leaves = answer.isFiltered === true && (await leaveUnanswered(run));
    return { status: 'final', answered, outcome, ...(leaves && { leaves }) };
  }
  await journal.record(outcome);
  return { status: 'recorded', answered };
}

function findRepair(
  { agent }: PreparedAgent,
  { toolCalls, content }: Message,
  end: AnswerEnd | undefined,
): string | undefined {
  if (agent.answer === undefined || toolCalls !== undefined || end !== undefined) return undefined;
  const checked = checkFinalAnswer(agent.answer, content);
  return checked.status === 'invalid' ? checked.why : undefined;
}

/**
 * Compares the provider's count of a request with turnfold's own. A count that no tokenizer could give is reported and
 * not used. Some providers cut long requests without an error. Then a pass makes the context fit what they read.
 */
async function judgeCount(
  run: RunningTurn,
  answer: ModelAnswer,
  { messages, version }: SentContext,
): Promise<JudgedRequest> {
  const { journal, prepared, ports, guard } = run;
  const { size } = journal.conversation;
  // A pass committed between the claim and the request, so the size is that of the version before.
  if (size.version !== version) return { countFault: 'unknown' };
  const { profile } = prepared.agent.model;
  const { anchor: _, ...uncounted } = size;
  const counted = {
    countedTokens: contextSize(uncounted, { ...prepared.overhead, calibration: 1 }).tokens,
    pictureTokens: countPictures(messages, prepared.pictures),
  };
  const reported = checkUsage(answer.usage)?.inputTotal;
  if (reported === undefined) return {};
  const countFault = findCountFault(reported, counted, size, prepared.overhead);
  const model = answer.model ?? profile.id;
  // A count that is too large may still be right. One such count moves the calibration factor only a little.
  if (countFault === undefined || countFault === 'excess') {
    void ports.calibrations.observe(model, reported, counted.countedTokens);
  }
  if (countFault === undefined) return {};
  if (countFault === 'excess' || countFault === 'truncated') {
    ports.onEvent({
      type: 'count_ignored',
      ...guard.scope,
      model,
      why: countFault,
      reportedTokens: reported,
      countedTokens: counted.countedTokens,
    });
  }
  if (countFault === 'truncated' && prepared.policy.enabled) {
    await requestUnderLease(run, { reasons: ['overflow'], refusedTokens: reported });
  }
  return { countFault };
}

export async function readModelAnswer(
  answer: ModelAnswer,
  request: SentRequest,
  { weigh, agent, facts }: Pick<PreparedAgent, 'weigh' | 'agent' | 'facts'>,
): Promise<ReadAnswer> {
  const { key, head, version } = request;
  const { profile } = agent.model;
  const adopted = adoptAnswer(answer, head);
  if (adopted.status === 'unusable') return adopted;
  const { message } = adopted;
  const weighed = await weigh(message);
  if (weighed.bytes > MAX_MESSAGE_BYTES) {
    return {
      status: 'unusable',
      why: `the answer has ${weighed.bytes} bytes, but the limit of a message is ${MAX_MESSAGE_BYTES} bytes`,
    };
  }
  const usage = toTurnUsage(answer.usage, profile);
  const recorded = {
    key,
    expectedHead: head,
    closes: [],
    answeredVersion: version,
    requestFacts: facts,
    ...(usage && { usage }),
  };
  const { toolCalls = [] } = message;
  const { end = 'complete' } = answer;
  if (end === 'complete') {
    const opens = toolCalls.map(({ id, providerId }) => ({ id, providerId }));
    const outcome = { ...recorded, messages: [weighed], opens, ...readAnchor(answer, request, profile) };
    return { status: 'read', message, outcome };
  }
  const results = await Promise.all(toolCalls.map(({ id }) => weigh(refuseUnfinished(id, end))));
  // The provider's count does not include these tool results, so later sizes are not derived from it.
  const anchor = results.length === 0 ? readAnchor(answer, request, profile) : {};
  return {
    status: 'read',
    message,
    outcome: { ...recorded, messages: [weighed, ...results], opens: [], end, ...anchor },
  };
}

function readAnchor(
  answer: ModelAnswer,
  request: SentRequest,
  { outputCapTokens }: ModelProfile,
): Pick<StepOutcome, 'anchor'> {
  const { version, fingerprint, countFault } = request;
  const usage = checkUsage(answer.usage);
  if (usage === undefined || countFault !== undefined) return {};
  const tokens = usage.inputTotal + Math.min(usage.outputKept, outputCapTokens);
  return { anchor: { tokens, version, ...(fingerprint !== undefined && { fingerprint }) } };
}

const UNFINISHED: Readonly<Record<AnswerEnd, string>> = {
  cut_off:
    'the answer reached the output token limit before this call was complete. The call was not run. Call again with less.',
  refusal: 'the answer ended in a refusal before this call was complete. The call was not run.',
};

/** Result for an incomplete call. The call never runs: its cut arguments may be valid JSON with another meaning. */
function refuseUnfinished(toolCallId: string, end: AnswerEnd): Message {
  return { role: 'tool', content: `${end}: ${UNFINISHED[end]}`, toolCallId, isError: true };
}

/** @param answer as `checkAnswer` returns it, so its fields are valid */
function adoptAnswer(
  { content, toolCalls, raw, reasoning }: ModelAnswer,
  head: number,
): { readonly status: 'adopted'; readonly message: Message } | UnusableAnswer {
  const hasCalls = toolCalls.length > 0;
  const message: Message = {
    role: 'assistant',
    content: hasCalls || content.trim() !== '' ? content : EMPTY_REFUSAL,
    ...(hasCalls && { toolCalls: [...toolCalls] }),
    ...(raw !== undefined && { raw }),
    ...(reasoning !== undefined && { reasoning }),
  };
  if (!hasCalls) return { status: 'adopted', message };
  try {
    const [adopted] = adoptMessages([message], head + 1, [], 'answer').messages;
    return { status: 'adopted', message: adopted as Message };
  } catch (error) {
    if (isTurnfoldError(error)) return { status: 'unusable', why: error.message };
    throw error;
  }
}
