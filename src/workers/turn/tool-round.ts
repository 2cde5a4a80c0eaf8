import type { Tool, ToolContext } from '../../domain/agent.ts';
import type { EventLoop } from '../../domain/event-loop.ts';
import { nameConversation } from '../../domain/ids.ts';
import type { Message, ToolCall } from '../../domain/message.ts';
import { describeThrown } from '../../domain/thrown.ts';
import type { ToolData } from '../../domain/tool-notes.ts';
import { type CallToWaitFor, TURN_LIMITS } from '../../domain/turn.ts';
import { hashOf } from '../content-hash.ts';
import { StoppedWork } from '../shutdown.ts';
import { CallNotes, type OpenNotes } from './call-notes.ts';
import { clipOutput } from './result-parts.ts';
import { type CallDecision, decideCall, indexWaits, type RunnableTool, waitForCalls } from './tool-calls.ts';
import { errorAnswer, readOutput, TOOL_RESULT_MAX_TOKENS, type ToolAnswer } from './tool-output.ts';
import { LostTurn, type StepTimeout } from './turn-guard.ts';
import { countSteps, idempotencyKey, stepOfModelKey, toolKey } from './turn-journal.ts';
import { failTurn, HANDED_BACK, mustHandBack, type RunFacts, type RunningTurn, type RunState } from './turn-states.ts';

/** Tool calls that run at the same time. When 4,000 calls started at once, they blocked the event loop for 2.5 s. */
const CALLS_AT_ONCE = 64;

interface DecidedCall<Decision extends CallDecision = CallDecision> {
  readonly call: ToolCall;
  readonly decision: Decision;
}

type AnswerableCall = DecidedCall<Exclude<CallDecision, { kind: 'wait' }>>;

/** Runs the tool calls of one answer, and records each result at once. Calls that wait suspend the turn at the end. */
export async function runTools(run: RunningTurn, { answered }: RunState<'tools'>): Promise<RunFacts['tools']> {
  const { journal, prepared, claimed } = run;
  if (mustHandBack(run)) return { status: 'ended', end: HANDED_BACK };
  const calls = (answered.message.toolCalls ?? []).filter(({ id }) => journal.openCalls.has(id));
  const maxSteps = prepared.agent.maxSteps ?? TURN_LIMITS.maxSteps;
  const steps = countSteps(journal.steps) + calls.filter(({ id }) => !journal.steps.has(toolKey(id))).length;
  if (steps > maxSteps) {
    const why = `the turn would need ${steps} steps, but maxSteps is ${maxSteps}. Raise maxSteps of the agent`;
    return { status: 'ended', end: failTurn('step_limit', why, { maxSteps }) };
  }
  const { answers, waited, claimedAt } = claimed;
  const facts = { tools: toolsOf(run), steps: journal.steps, answers, waits: indexWaits(waited), claimedAt };
  const decided = calls.map((call): DecidedCall => ({ call, decision: decideCall(call, facts) }));
  const toRun = decided.filter(({ decision }) => decision.kind === 'run');
  const wasStarted = calls.filter(({ id }) => journal.steps.get(toolKey(id))?.status === 'started');
  if (toRun.length > 0) await journal.start(toRun.map(({ call }) => toolKey(call.id)));
  const answerable = decided.filter((one): one is AnswerableCall => one.decision.kind !== 'wait');
  const notes = new CallNotes(run.stream, {
    step: stepOfModelKey(answered.key),
    calls: answered.message.toolCalls?.length ?? 0,
  });
  const earlier = await readEarlier(run, wasStarted);
  try {
    await runAll(
      run,
      answerable.map((one) => () => traceCall({ ...run, notes, earlier }, one)),
    );
  } finally {
    notes.close();
  }
  return endRound(run, answered.key, decided);
}

type EarlierValues = ReadonlyMap<string, readonly ToolData[]>;

/**
 * Reads the values that readers got from a run whose worker died. The result keeps them, so that a page shows the same
 * values live and after a reload.
 */
async function readEarlier({ ports, guard }: RunningTurn, started: readonly ToolCall[]): Promise<EarlierValues> {
  if (started.length === 0) return new Map();
  const { conversation, turn } = guard.lease;
  const values = await ports.streams.readValues(conversation, turn).catch((error: unknown) => {
    ports.onEvent({ type: 'worker_failed', where: 'stream', ...nameConversation(conversation), turn, error });
    return [];
  });
  const ofCall = Map.groupBy(values, ({ call }) => call);
  return new Map(started.map(({ id }) => [id, (ofCall.get(id) ?? []).map(({ data }) => data)]));
}

function toolsOf({ prepared, ports, claimed, journal }: RunningTurn): readonly Tool[] {
  const { agent, recall } = prepared;
  if (recall === undefined) return agent.tools;
  const { contexts } = ports;
  const { conversation } = claimed.lease;
  return [...agent.tools, recall.open({ contexts, conversation, state: journal.conversation })];
}

/** The turn waits for one kind of call at a time: first for approvals, then for results from outside. */
function endRound(run: RunningTurn, step: string, decided: readonly DecidedCall[]): RunFacts['tools'] {
  for (const kind of ['approval', 'tools'] as const) {
    const calls = decided.flatMap(({ decision }) =>
      decision.kind === 'wait' && decision.for === kind ? [nameWait(run, decision.call)] : [],
    );
    if (calls.length > 0) return { status: 'ended', end: { kind: 'suspended', wait: waitForCalls(kind, step, calls) } };
  }
  return { status: 'closed' };
}

/**
 * Adds the hash by which an answer names a waiting call. Its idempotency key keeps an answer to a call of an erased
 * conversation from matching (I21).
 */
function nameWait(run: RunningTurn, call: CallToWaitFor): CallToWaitFor {
  const { id, name, arguments: text, input = '', hash } = call;
  return { ...call, hash: hash ?? hashOf(JSON.stringify([idempotencyKey(run, id), name, text, input])) };
}

/** Runs all calls of a round. The first failure aborts the others. A stopping worker aborts each call itself. */
async function runAll({ guard }: RunningTurn, jobs: readonly (() => Promise<void>)[]): Promise<void> {
  const left = jobs.values();
  const lanes = Array.from({ length: Math.min(CALLS_AT_ONCE, jobs.length) }, async () => {
    for (const job of left) {
      if (guard.signal.aborted) return;
      try {
        await job();
      } catch (error) {
        if (!(error instanceof StoppedWork)) guard.abort(error);
        throw error;
      }
    }
  });
  await Promise.allSettled(lanes);
  await Promise.all(lanes);
}

interface RunningRound extends RunningTurn {
  readonly notes: CallNotes;
  readonly earlier: EarlierValues;
}

/** Records a span for a call, also if the call is answered without being run. A lost turn or a stop fails no span. */
async function traceCall(run: RunningRound, one: AnswerableCall): Promise<void> {
  const about = { kind: 'tool_call', name: nameTool(one), call: one.call.id } as const;
  const ended = await run.ports.tracing.inSpan(about, () => answerCall(run, one).catch(returnTurnEnd));
  if (ended !== undefined) throw ended;
}

function returnTurnEnd(error: unknown): LostTurn | StoppedWork {
  if (error instanceof LostTurn || error instanceof StoppedWork) return error;
  throw error;
}

/** Name for spans and metrics. Unknown tools share one name, because models can invent any number of names. */
function nameTool({ call, decision }: AnswerableCall): string {
  return decision.kind === 'answer' && decision.outcome === 'unknown_tool' ? 'unknown' : call.name;
}

async function answerCall(run: RunningRound, one: AnswerableCall): Promise<void> {
  const { call, decision } = one;
  const { journal, prepared, ports, guard } = run;
  const { scope } = guard;
  const name = nameTool(one);
  ports.onContent?.({ type: 'tool_call_started', ...scope, name, call: call.id, arguments: call.arguments });
  const startedAt = ports.clock.now();
  const notes = run.notes.open(call.id, run.earlier.get(call.id));
  const answer: ToolAnswer = decision.kind === 'run' ? await runTool(run, call, { ...decision, notes }) : decision;
  notes.end();
  const maxTokens = prepared.agent.toolResultMaxTokens ?? TOOL_RESULT_MAX_TOKENS;
  const hasRecall = prepared.recall !== undefined;
  const { content, parts, whole } = await clipOutput(prepared, answer.output, { maxTokens, hasRecall });
  ports.onContent?.({ type: 'tool_answered', ...scope, name, call: call.id, content });
  const isError = answer.output.isError === true;
  const data = notes.values.length > 0 && { data: [...notes.values] };
  const decided = decision.approval && { decision: decision.approval };
  const message: Message = {
    role: 'tool',
    content,
    toolCallId: call.id,
    ...(parts !== undefined && { parts: [...parts] }),
    ...(isError ? { isError } : {}),
    ...data,
    ...decided,
  };
  await journal.record({
    key: toolKey(call.id),
    messages: [await prepared.weigh(message)],
    opens: [],
    closes: [call.id],
    ...(whole === undefined ? {} : { fullTexts: new Map([[whole.hash, whole.text]]) }),
  });
  const durationMs = ports.clock.now() - startedAt;
  ports.onEvent({ type: 'tool_called', ...scope, name, outcome: answer.outcome, durationMs });
}

/** Limit for an error text that the model reads. A longer stack trace would only use up context. */
const TOOL_ERROR_CHARACTERS = 16_000;

/** Errors and timeouts become results. @throws LostTurn if the turn ends. StoppedWork if the worker stops */
async function runTool(
  run: RunningTurn,
  call: ToolCall,
  { tool, input, notes }: { readonly tool: RunnableTool; readonly input: unknown; readonly notes: OpenNotes },
): Promise<ToolAnswer> {
  const { guard, ports, settings } = run;
  const { conversation, turn } = guard.lease;
  const timeoutMs = tool.timeoutMs ?? settings.stepTimeoutMs;
  const context = {
    tenant: conversation.tenant,
    conversation: conversation.id,
    turn,
    context: structuredClone(run.turnContext),
    idempotencyKey: idempotencyKey(run, call.id),
    progress: notes.progress,
    emit: notes.emit,
  };
  try {
    return await guard.call(timeoutMs, (signal) => runSafely(ports.loop, tool, input, { ...context, signal }));
  } catch (error) {
    // The abort may have caused the error. It is unknown whether the call had its effect.
    guard.throwIfEnded();
    return errorAnswer('timeout', (error as StepTimeout).message); // runSafely throws only after an abort
  }
}

/** Runs the tool's own code, which may be any code of the user. Throws only after its signal was aborted. */
async function runSafely(
  loop: EventLoop | undefined,
  tool: RunnableTool,
  input: unknown,
  context: ToolContext,
): Promise<ToolAnswer> {
  const run = async (): Promise<unknown> => await tool.run(input, context);
  try {
    return readOutput(await (loop === undefined ? run() : loop.runTool(tool.name, run)));
  } catch (error) {
    if (context.signal.aborted) throw error;
    return errorAnswer('failed', describeThrown(error, TOOL_ERROR_CHARACTERS).message);
  }
}
