import type { Tool } from '../../domain/agent.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import { TURN_LIMITS } from '../../domain/turn.ts';
import { StoppedWork } from '../shutdown.ts';
import { LostTurn } from './lost-turn.ts';
import type { Answered } from './model-step.ts';
import { mustHandBack, type RunningTurn } from './running-turn.ts';
import { countSteps, toolKey } from './step-keys.ts';
import { type CallDecision, decideCall } from './tool-calls.ts';
import type { ToolAnswer } from './tool-output.ts';
import { clipResult, TOOL_RESULT_MAX_TOKENS } from './tool-result-clip.ts';
import { runTool } from './tool-run.ts';
import { failTurn, HANDED_BACK, type TurnEnd } from './turn-end.ts';
import { readCallWait, waitForCalls } from './waiting.ts';

/** Begun in one turn of the event loop, and answered in another: 4,000 calls of one message held it for 2.5 s. */
const CALLS_AT_ONCE = 64;

interface DecidedCall<Decision extends CallDecision = CallDecision> {
  readonly call: ToolCall;
  readonly decision: Decision;
}

type AnswerableCall = DecidedCall<Exclude<CallDecision, { kind: 'wait' }>>;

/**
 * Answers the open calls of an assistant message, 64 at a time, each recorded as soon as it has its result. Undefined:
 * the round is closed. Calls that wait for somebody are suspended for once all others have their results.
 */
export async function takeToolSteps(run: RunningTurn, answered: Answered): Promise<TurnEnd | undefined> {
  const { journal, prepared, claimed } = run;
  if (mustHandBack(run)) return HANDED_BACK;
  const calls = (answered.message.toolCalls ?? []).filter(({ id }) => journal.openCalls.has(id));
  const maxSteps = prepared.agent.maxSteps ?? TURN_LIMITS.maxSteps;
  const steps = countSteps(journal.steps) + calls.filter(({ id }) => !journal.steps.has(toolKey(id))).length;
  if (steps > maxSteps) {
    return failTurn('step_limit', `${steps} steps with the calls just made, at most ${maxSteps}`, { maxSteps });
  }
  const { answers, waited, claimedAt } = claimed;
  const facts = { tools: toolsOf(run), steps: journal.steps, answers, waited, claimedAt };
  const decided = calls.map((call): DecidedCall => ({ call, decision: decideCall(call, facts) }));
  const toRun = decided.filter(({ decision }) => decision.kind === 'run');
  if (toRun.length > 0) await journal.start(toRun.map(({ call }) => toolKey(call.id)));
  await settleAll(
    run,
    decided.filter(isAnswerable).map((one) => () => traceCall(run, one)),
  );
  return suspendForCalls(answered.step, decided, facts.tools);
}

/** With the built-in one, at work on this conversation. */
function toolsOf({ prepared, ports, claimed, journal }: RunningTurn): readonly Tool[] {
  const { agent, recall } = prepared;
  if (recall === undefined) return agent.tools;
  const { contexts } = ports;
  return [
    ...agent.tools,
    recall.open({ contexts, conversation: claimed.lease.conversation, state: journal.conversation }),
  ];
}

/**
 * Also of a call that is answered without a run: who looks for it finds why. A lost turn or a stop is no error of the
 * call's: it is thrown outside of its span.
 */
async function traceCall(run: RunningTurn, one: AnswerableCall): Promise<void> {
  const about = { kind: 'tool_call', name: nameTool(one), call: one.call.id } as const;
  const ended = await run.ports.tracing.inSpan(about, () => answerCall(run, one).catch(keepEnd));
  if (ended !== undefined) throw ended;
}

function keepEnd(error: unknown): LostTurn | StoppedWork {
  if (error instanceof LostTurn || error instanceof StoppedWork) return error;
  throw error;
}

/** A name that a model made up is none: there is no end of them. */
function nameTool({ call, decision }: AnswerableCall): string {
  return decision.kind === 'answer' && decision.outcome === 'unknown_tool' ? 'unknown' : call.name;
}

async function answerCall(run: RunningTurn, one: AnswerableCall): Promise<void> {
  const { call, decision } = one;
  const { journal, prepared, ports, keeper } = run;
  const { conversation, turn } = keeper.lease;
  const about = { ...nameConversation(conversation), turn };
  const said = { ...about, name: nameTool(one), call: call.id };
  ports.onContent?.({ type: 'tool_asked', ...said, arguments: call.arguments });
  const startedAt = ports.clock.now();
  const given: ToolAnswer = decision.kind === 'run' ? await runTool(run, call, decision) : decision;
  const maxTokens = prepared.agent.toolResultMaxTokens ?? TOOL_RESULT_MAX_TOKENS;
  const hasRecall = prepared.recall !== undefined;
  const { content, whole } = await clipResult(prepared.counter, given.output.content, { maxTokens, hasRecall });
  ports.onContent?.({ type: 'tool_answered', ...said, content });
  const isError = given.output.isError === true;
  const message: Message = { role: 'tool', content, toolCallId: call.id, ...(isError ? { isError } : {}) };
  await journal.record({
    key: toolKey(call.id),
    messages: [await prepared.weigh(message)],
    opens: [],
    closes: [call.id],
    ...(whole === undefined ? {} : { texts: new Map([[whole.hash, whole.text]]) }),
  });
  ports.onEvent({
    type: 'tool_called',
    ...about,
    name: said.name,
    outcome: given.outcome,
    durationMs: ports.clock.now() - startedAt,
  });
}

/** One wait at a time: what a person has to allow first, then what others have to bring. */
function suspendForCalls(step: string, decided: readonly DecidedCall[], tools: readonly Tool[]): TurnEnd | undefined {
  for (const kind of ['approval', 'tools'] as const) {
    const calls = decided.filter(({ decision }) => decision.kind === 'wait' && decision.for === kind);
    if (calls.length === 0) continue;
    const waits = calls.map(({ call }) => readCallWait(call, tools));
    return { kind: 'suspended', wait: waitForCalls(kind, step, waits) };
  }
  return undefined;
}

/** The first failure aborts what runs beside it, and nothing is left running behind it. A stop aborts each call by itself. */
async function settleAll({ keeper }: RunningTurn, jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const left = jobs.values();
  const lanes = Array.from({ length: Math.min(CALLS_AT_ONCE, jobs.length) }, async () => {
    for (const job of left) {
      if (keeper.signal.aborted) return;
      try {
        await job();
      } catch (error) {
        if (!(error instanceof StoppedWork)) keeper.abort(error);
        throw error;
      }
    }
  });
  await Promise.allSettled(lanes);
  await Promise.all(lanes);
}

function isAnswerable(decided: DecidedCall): decided is AnswerableCall {
  return decided.decision.kind !== 'wait';
}
