import { inspect, isDeepStrictEqual } from 'node:util';
import type { Tool } from '../../domain/agent.ts';
import { writeBoundedJson } from '../../domain/bounded-json.ts';
import { readJsonText, refuseJsonText } from '../../domain/json-text.ts';
import { MAX_MESSAGE_BYTES, type ToolCall } from '../../domain/message.ts';
import { nameIssues } from '../../domain/parse.ts';
import {
  type AnswerKind,
  type CallToWaitFor,
  isAnswerKind,
  type RecordedCall,
  type RecordedDecision,
  type StepRecord,
  TURN_LIMITS,
  type WaitingCall,
  type WaitRequest,
} from '../../domain/turn.ts';
import type { ClaimedTurn } from '../../store/turn-record.ts';
import { errorAnswer, readApproval, readBroughtOutput, type ToolAnswer } from './tool-output.ts';
import { toolKey } from './turn-journal.ts';

export type RunnableTool = Tool & Required<Pick<Tool, 'run'>>;

export type CallDecision =
  | ({ readonly kind: 'answer' } & ToolAnswer & DecidedByPerson)
  | ({ readonly kind: 'run'; readonly tool: RunnableTool; readonly input: unknown } & DecidedByPerson)
  | { readonly kind: 'wait'; readonly for: AnswerKind; readonly call: CallToWaitFor };

type AnsweredCall = Exclude<CallDecision, { kind: 'wait' }>;

/** Present for a call that needed an approval. A deadline denies a call, too. */
interface DecidedByPerson {
  readonly approval?: RecordedDecision;
}

/** The wait of a tool call. Its recorded kind decides how it ends, whatever the tool's definition is now (I20). */
interface CallWait {
  readonly for: AnswerKind;
  readonly call: WaitingCall;
}

export interface CallFacts {
  readonly tools: readonly Tool[];
  readonly steps: ReadonlyMap<string, StepRecord>;
  readonly answers: ClaimedTurn['answers'];
  readonly waits: ReadonlyMap<string, CallWait>;
  /** Time of the claim by the store's clock. The deadlines are by the same clock. */
  readonly claimedAt: number;
}

/** Waits by call id, because a tool round can have 4,000 calls. */
export function indexWaits(waited: ClaimedTurn['waited']): CallFacts['waits'] {
  if (waited === undefined || !isAnswerKind(waited.for)) return new Map();
  const kind = waited.for;
  return new Map(waited.calls.map((call) => [call.id, { for: kind, call }]));
}

/**
 * Decides what happens to a tool call. A call that has waited is decided by its record alone (I20), any other call by
 * the tool's definition. A tool without `run` ignores `needsApproval`, because its result comes from outside.
 */
export function decideCall(call: ToolCall, facts: CallFacts): CallDecision {
  const wait = facts.waits.get(call.id);
  if (wait !== undefined) return wait.for === 'tools' ? decideOutside(wait, facts) : decideApproval(wait, facts);
  const tool = findTool(call.name, facts);
  if (tool === undefined) {
    const known = facts.tools.map(({ name }) => name).join(', ') || 'none';
    return answerError('unknown_tool', `there is no tool "${call.name}". Available tools: ${known}`);
  }
  const read = readInput(tool, call.arguments);
  if (read.status === 'invalid') return answerError('invalid_input', read.why);
  if (!isRunnable(tool)) return beginWait('tools', call, { tool, input: read.input });
  if (tool.needsApproval === true) return beginWait('approval', call, { tool, input: read.input });
  if (isStarted(call.id, facts) && tool.retry === 'never') return UNKNOWN_OUTCOME;
  return { kind: 'run', tool, input: read.input };
}

function decideOutside({ call }: CallWait, facts: CallFacts): CallDecision {
  const brought = facts.answers.get(call.id);
  if (brought !== undefined) return { kind: 'answer', ...readBroughtOutput(brought) };
  if (call.until > facts.claimedAt) return waitOn('tools', call, facts);
  return answerError('timeout', 'the tool call got no result before its deadline');
}

function decideApproval({ call }: CallWait, facts: CallFacts): CallDecision {
  const decided = facts.answers.get(call.id);
  if (decided === undefined) {
    if (call.until > facts.claimedAt) return waitOn('approval', call, facts);
    const late = answerError('denied', 'the call was not approved before the deadline');
    return { ...late, approval: { approved: false, at: call.until } };
  }
  const { approved, why } = readApproval(decided);
  const decision = approved ? runApproved(call, facts) : answerError('denied', why ?? 'the call was not approved');
  return call.decision === undefined ? decision : { ...decision, approval: call.decision };
}

/** Decides an approved call. A deployment may have removed the tool or its `run` since. */
function runApproved(call: WaitingCall, facts: CallFacts): AnsweredCall {
  const tool = findTool(call.name, facts);
  const canRun = tool !== undefined && isRunnable(tool);
  if (isStarted(call.id, facts) && (!canRun || tool.retry === 'never')) return UNKNOWN_OUTCOME;
  if (!canRun) {
    const lost = tool === undefined ? `there is no tool "${call.name}"` : `the tool "${call.name}" has no run function`;
    return answerError('unknown_tool', `the call was approved, but ${lost} any more. The call did not run`);
  }
  const read = restoreInput(tool, call);
  return read.status === 'valid' ? { kind: 'run', tool, input: read.input } : answerError('invalid_input', read.why);
}

function findTool(name: string, { tools }: CallFacts): Tool | undefined {
  return tools.find((tool) => tool.name === name);
}

function isStarted(callId: string, { steps }: CallFacts): boolean {
  return steps.get(toolKey(callId))?.status === 'started';
}

const UNKNOWN_OUTCOME = answerError(
  'outcome_unknown',
  'the call was started, but its worker stopped before the result arrived. The call may have taken effect',
);

interface CheckedInput {
  readonly tool: Tool;
  readonly input: unknown;
}

function beginWait(kind: AnswerKind, { id, name, arguments: text }: ToolCall, checked: CheckedInput): CallDecision {
  const shown = showInput(checked.input);
  if (shown === undefined) return answerError('invalid_input', UNSHOWN_INPUT);
  const { answerWithinMs: waitMs = TURN_LIMITS.answerWithinMs } = checked.tool;
  return { kind: 'wait', for: kind, call: { id, name, arguments: text, ...shown, waitMs } };
}

function waitOn(
  kind: AnswerKind,
  { until, decision: _, ...call }: WaitingCall,
  { claimedAt }: CallFacts,
): CallDecision {
  return { kind: 'wait', for: kind, call: { ...call, waitMs: until - claimedAt } };
}

function isRunnable(tool: Tool): tool is RunnableTool {
  return tool.run !== undefined;
}

function answerError(...error: Parameters<typeof errorAnswer>): AnsweredCall {
  return { kind: 'answer', ...errorAnswer(...error) };
}

/** @param step key of the model call that asked for these tool calls, of which there is at least one */
export function waitForCalls(kind: AnswerKind, step: string, calls: readonly CallToWaitFor[]): WaitRequest {
  return { for: kind, step, waitMs: Math.min(...calls.map(({ waitMs }) => waitMs)), calls };
}

type ReadInput =
  | { readonly status: 'valid'; readonly input: unknown }
  | { readonly status: 'invalid'; readonly why: string };

function readInput(tool: Tool, text: string): ReadInput {
  // Some models send empty text as the arguments of a tool that takes none.
  const given = text.trim() === '' ? '{}' : text;
  const refusal = refuseJsonText(given);
  if (refusal !== undefined) return { status: 'invalid', why: `arguments: ${refusal.why}` };
  const value = readJsonText(given);
  if (value === undefined) return { status: 'invalid', why: 'arguments: not valid JSON' };
  try {
    const { success, data, error } = tool.input.safeParse(value);
    if (success) return { status: 'valid', input: data };
    return {
      status: 'invalid',
      why: nameIssues(error, 'arguments', 'invalid_input')[0]?.message ?? 'arguments: invalid',
    };
  } catch {
    return { status: 'invalid', why: "arguments: the tool's schema threw an error while it checked them" };
  }
}

type ShownInput = Required<Pick<RecordedCall, 'input'>> & Pick<RecordedCall, 'isShownOnly'>;

const INPUT_BOUNDS = { maxCharacters: MAX_MESSAGE_BYTES };

/**
 * Writes an input for a person to approve: as JSON if that gives an equal value when parsed, else as Node's `inspect`
 * writes it. So the tool's `run` gets what the person read.
 * @returns undefined for an input that is too large to be shown
 */
function showInput(input: unknown): ShownInput | undefined {
  const written = writeBoundedJson(input, INPUT_BOUNDS);
  if (written.status === 'written' && isDeepStrictEqual(JSON.parse(written.json), input)) {
    return { input: written.json };
  }
  const text = inspect(input, {
    depth: 200,
    maxArrayLength: null,
    maxStringLength: null,
    customInspect: false, // a class could otherwise hide a part of its value
  });
  return text.length > MAX_MESSAGE_BYTES ? undefined : { input: text, isShownOnly: true };
}

const UNSHOWN_INPUT = `arguments: the tool's schema makes an input of more than ${MAX_MESSAGE_BYTES} characters. No person can check such an input. Send fewer arguments`;

/**
 * Restores the approved input. If `inspect` showed it, the schema parses the arguments again, and the result must look
 * the same.
 */
function restoreInput(tool: Tool, { arguments: text, input, isShownOnly }: RecordedCall): ReadInput {
  if (input !== undefined && isShownOnly !== true) {
    const recorded = readJsonText(input);
    if (recorded !== undefined) return { status: 'valid', input: recorded };
    return { status: 'invalid', why: 'arguments: the recorded input is not JSON. The call did not run' };
  }
  const read = readInput(tool, text);
  // An earlier release did not record the input.
  if (input === undefined || read.status === 'invalid') return read;
  const shown = showInput(read.input);
  if (shown?.input === input && shown.isShownOnly === true) return read;
  const why = "arguments: the tool's schema no longer makes the input that was approved. The call did not run";
  return { status: 'invalid', why };
}
