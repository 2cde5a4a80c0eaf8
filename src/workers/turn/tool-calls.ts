import type { Tool } from '../../domain/agent.ts';
import type { ToolCall } from '../../domain/message.ts';
import { nameIssues } from '../../domain/parse.ts';
import type { ClaimedTurn } from '../../domain/ports/turn-store.ts';
import type { AnswerKind, StepRecord } from '../../domain/turn.ts';
import { toolKey } from './step-keys.ts';
import { parseToolJson, readApproval, readBroughtOutput, refuseCall, type ToolAnswer } from './tool-output.ts';

export type RunnableTool = Tool & Required<Pick<Tool, 'run'>>;

/** What is to be done about one open call. */
export type CallDecision =
  | ({ readonly kind: 'answer' } & ToolAnswer)
  | { readonly kind: 'run'; readonly tool: RunnableTool; readonly input: unknown }
  | { readonly kind: 'wait'; readonly for: AnswerKind };

export interface CallFacts {
  readonly tools: readonly Tool[];
  readonly steps: ReadonlyMap<string, StepRecord>;
  readonly answers: ClaimedTurn['answers'];
  readonly waited: ClaimedTurn['waited'];
  /** by the store's clock, as deadlines are */
  readonly claimedAt: number;
}

/**
 * Decides one open call from what is known. A call that cannot be run is answered at once and needs no approval. A tool
 * without `run` is approved by whoever answers it, so `needsApproval` says nothing there.
 */
export function decideCall(call: ToolCall, facts: CallFacts): CallDecision {
  const tool = facts.tools.find(({ name }) => name === call.name);
  if (tool === undefined) {
    const known = facts.tools.map(({ name }) => name).join(', ') || 'none';
    return answer(refuseCall('unknown_tool', `there is no tool "${call.name}"; there are: ${known}`));
  }
  const read = readInput(tool, call.arguments);
  if (read.status === 'invalid') return answer(refuseCall('invalid_input', read.why));
  if (!isRunnable(tool)) return decideOutsideCall(call.id, facts);
  if (tool.needsApproval === true) {
    const refusal = decideApproval(call.id, facts);
    if (refusal !== undefined) return refusal;
  }
  const isStarted = facts.steps.get(toolKey(call.id))?.status === 'started';
  if (isStarted && tool.retry === 'never') {
    return answer(
      refuseCall(
        'outcome_unknown',
        'the call was started, its worker ended before it had a result, and it may have taken effect',
      ),
    );
  }
  return { kind: 'run', tool, input: read.input };
}

function decideOutsideCall(callId: string, facts: CallFacts): CallDecision {
  const brought = facts.answers.get(callId);
  if (brought !== undefined) return answer(readBroughtOutput(brought));
  if (isPastDeadline('tools', callId, facts))
    return answer(refuseCall('timeout', 'no result came before the deadline'));
  return { kind: 'wait', for: 'tools' };
}

/** Undefined: approved. */
function decideApproval(callId: string, facts: CallFacts): CallDecision | undefined {
  const decided = facts.answers.get(callId);
  if (decided === undefined) {
    if (!isPastDeadline('approval', callId, facts)) return { kind: 'wait', for: 'approval' };
    return answer(refuseCall('denied', 'nobody approved the call before the deadline'));
  }
  const { approved, why } = readApproval(decided);
  return approved ? undefined : answer(refuseCall('denied', why ?? 'the call was not approved'));
}

/** Each call has its own deadline: the others of the round go on waiting. */
function isPastDeadline(kind: AnswerKind, callId: string, { waited, claimedAt }: CallFacts): boolean {
  if (waited?.for !== kind || waited.isFulfilled) return false;
  return waited.calls.some(({ id, until }) => id === callId && until <= claimedAt);
}

type ReadInput =
  | { readonly status: 'valid'; readonly input: unknown }
  /** names the field */
  | { readonly status: 'invalid'; readonly why: string };

function readInput(tool: Tool, text: string): ReadInput {
  // Some models write nothing where a tool takes nothing.
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
    return { status: 'invalid', why: 'arguments: the schema of this tool could not be applied' };
  }
}

function isRunnable(tool: Tool): tool is RunnableTool {
  return tool.run !== undefined;
}

function answer(given: ToolAnswer): CallDecision {
  return { kind: 'answer', ...given };
}
