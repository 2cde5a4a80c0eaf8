import type { Tool } from '../../domain/agent.ts';
import type { ToolCall } from '../../domain/message.ts';
import { nameIssues } from '../../domain/parse.ts';
import type { ClaimedTurn } from '../../domain/ports/turn-store.ts';
import {
  type AnswerKind,
  type CallToWaitFor,
  type StepRecord,
  TURN_LIMITS,
  type WaitRequest,
} from '../../domain/turn.ts';
import { toolKey } from './step-keys.ts';
import { errorAnswer, parseToolJson, readApproval, readBroughtOutput, type ToolAnswer } from './tool-output.ts';

export type RunnableTool = Tool & Required<Pick<Tool, 'run'>>;

export type CallDecision =
  | ({ readonly kind: 'answer' } & ToolAnswer)
  | { readonly kind: 'run'; readonly tool: RunnableTool; readonly input: unknown }
  | { readonly kind: 'wait'; readonly for: AnswerKind };

export interface CallFacts {
  readonly tools: readonly Tool[];
  readonly steps: ReadonlyMap<string, StepRecord>;
  readonly answers: ClaimedTurn['answers'];
  readonly waited: ClaimedTurn['waited'];
  /** ms since epoch by the store's clock, as in the deadlines. */
  readonly claimedAt: number;
}

/**
 * Decides what to do with one open tool call. A call that cannot be run is answered at once, without an approval. A
 * tool without `run` ignores `needsApproval`, because its result comes from outside.
 */
export function decideCall(call: ToolCall, facts: CallFacts): CallDecision {
  const tool = facts.tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    const known = facts.tools.map(({ name }) => name).join(', ') || 'none';
    return answerError('unknown_tool', `there is no tool "${call.name}". Available tools: ${known}`);
  }
  const read = readInput(tool, call.arguments);
  if (read.status === 'invalid') return answerError('invalid_input', read.why);
  if (!isRunnable(tool)) return decideOutsideCall(call.id, facts);
  if (tool.needsApproval === true) {
    const decision = decideApproval(call.id, facts);
    if (decision.kind !== 'approved') return decision;
  }
  const isStarted = facts.steps.get(toolKey(call.id))?.status === 'started';
  if (isStarted && tool.retry === 'never') {
    return answerError(
      'outcome_unknown',
      'the call was started, but its worker stopped before the result arrived. The call may have taken effect',
    );
  }
  return { kind: 'run', tool, input: read.input };
}

function decideOutsideCall(callId: string, facts: CallFacts): CallDecision {
  const brought = facts.answers.get(callId);
  if (brought !== undefined) return { kind: 'answer', ...readBroughtOutput(brought) };
  if (isPastDeadline('tools', callId, facts))
    return answerError('timeout', 'the tool call got no result before its deadline');
  return { kind: 'wait', for: 'tools' };
}

function decideApproval(callId: string, facts: CallFacts): CallDecision | { readonly kind: 'approved' } {
  const decided = facts.answers.get(callId);
  if (decided === undefined) {
    if (!isPastDeadline('approval', callId, facts)) return { kind: 'wait', for: 'approval' };
    return answerError('denied', 'the call was not approved before the deadline');
  }
  const { approved, why } = readApproval(decided);
  return approved ? { kind: 'approved' } : answerError('denied', why ?? 'the call was not approved');
}

/** Each tool call has its own deadline. The other calls of the round continue to wait. */
function isPastDeadline(kind: AnswerKind, callId: string, { waited, claimedAt }: CallFacts): boolean {
  if (waited?.for !== kind || waited.isFulfilled) return false;
  return waited.calls.some(({ id, until }) => id === callId && until <= claimedAt);
}

type ReadInput =
  | { readonly status: 'valid'; readonly input: unknown }
  /** `why` names the invalid field of the tool call's arguments. */
  | { readonly status: 'invalid'; readonly why: string };

function readInput(tool: Tool, text: string): ReadInput {
  // Some models send empty text as the arguments of a tool that takes none.
  const given = parseToolJson(text.trim() === '' ? '{}' : text);
  if (!given.isJson) return { status: 'invalid', why: 'arguments: not valid JSON' };
  try {
    const { success, data, error } = tool.input.safeParse(given.value);
    if (success) return { status: 'valid', input: data };
    return {
      status: 'invalid',
      why: nameIssues(error, 'arguments', 'invalid_input')[0]?.message ?? 'arguments: invalid',
    };
  } catch {
    return { status: 'invalid', why: "arguments: the tool's schema threw an error while it checked them" };
  }
}

function isRunnable(tool: Tool): tool is RunnableTool {
  return tool.run !== undefined;
}

function answerError(...error: Parameters<typeof errorAnswer>): CallDecision {
  return { kind: 'answer', ...errorAnswer(...error) };
}

/** Returns how long a tool call may wait for its approval or outside result. Each tool has its own deadline. */
export function readCallWait({ id, name, arguments: text }: ToolCall, tools: readonly Tool[]): CallToWaitFor {
  const { answerWithinMs = TURN_LIMITS.answerWithinMs } = tools.find((tool) => tool.name === name) ?? {};
  return { id, name, arguments: text, waitMs: answerWithinMs };
}

/**
 * Builds the request to suspend the turn until its open tool calls have answers.
 * @param step key of the model step with the open calls
 * @param calls at least one
 */
export function waitForCalls(kind: AnswerKind, step: string, calls: readonly CallToWaitFor[]): WaitRequest {
  return { for: kind, step, waitMs: Math.min(...calls.map(({ waitMs }) => waitMs)), calls };
}
