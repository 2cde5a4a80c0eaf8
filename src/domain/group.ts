import { fieldError } from './errors.ts';
import { forEachInSlices, type Interruptible, runToEnd } from './interruptible.ts';
import type { Message, ToolCall } from './message.ts';

type GroupKind = 'system' | 'user' | 'assistant' | 'round' | 'summary';

/** The smallest unit that compaction may remove, e.g. an assistant message with all its tool results. */
export interface Group {
  readonly kind: GroupKind;
  /** Indexes in the grouped list, ascending. Only a tool round has more than one. */
  readonly positions: readonly number[];
  /** True if a call of the tool round has no result yet. */
  readonly isOpen: boolean;
}

interface GroupInProgress {
  kind: GroupKind;
  positions: number[];
  openCalls: number;
}

/**
 * A result may arrive late, so it belongs to its call at any distance.
 * @throws orphan_result or duplicate_call, with the field `messages[i].…`
 */
export function groupMessages(messages: readonly GroupedMessage[]): readonly Group[] {
  return runToEnd(groupInSlices(messages));
}

type GroupedMessage = Pick<Message, 'role' | 'toolCalls' | 'toolCallId'>;

export function* groupInSlices(messages: readonly GroupedMessage[]): Interruptible<readonly Group[]> {
  return (yield* readGroups(messages)).groups;
}

export interface Grouping {
  readonly groups: readonly Group[];
  /** Index of the group, by index of the message. */
  readonly groupOf: readonly number[];
  /** The call that a result answers, by index of the message. */
  readonly callOf: readonly (ToolCall | undefined)[];
}

export function* readGroups(messages: readonly GroupedMessage[]): Interruptible<Grouping> {
  const groups: GroupInProgress[] = [];
  const groupOf: number[] = [];
  const callOf: (ToolCall | undefined)[] = [];
  const calls = new Map<string, MadeCall>();
  yield* forEachInSlices(messages, ({ role, toolCalls, toolCallId }, position) => {
    if (role === 'tool') {
      const made = answerCall(calls, toolCallId, position);
      const round = groups[made.group] as GroupInProgress;
      round.positions.push(position);
      round.openCalls -= 1;
      groupOf.push(made.group);
      callOf.push(made.call);
      return;
    }
    const own = role === 'assistant' ? (toolCalls ?? []) : [];
    const group = groups.length;
    for (const [index, call] of own.entries()) addCall(calls, { call, group, isAnswered: false }, { position, index });
    groups.push({ kind: own.length > 0 ? 'round' : role, positions: [position], openCalls: own.length });
    groupOf.push(group);
    callOf.push(undefined);
  });
  yield;
  return {
    groups: groups.map(({ kind, positions, openCalls }) => ({ kind, positions, isOpen: openCalls > 0 })),
    groupOf,
    callOf,
  };
}

interface MadeCall {
  readonly call: ToolCall;
  readonly group: number;
  isAnswered: boolean;
}

function addCall(
  calls: Map<string, MadeCall>,
  made: MadeCall,
  { position, index }: { readonly position: number; readonly index: number },
): void {
  const { id } = made.call;
  if (calls.has(id)) {
    const field = `messages[${position}].toolCalls[${index}].id`;
    throw fieldError('duplicate_call', field, `call id ${id} is used by two calls. Give each call its own id`);
  }
  calls.set(id, made);
}

function answerCall(calls: ReadonlyMap<string, MadeCall>, callId: string | undefined, position: number): MadeCall {
  const made = callId === undefined ? undefined : calls.get(callId);
  if (callId === undefined || made === undefined) {
    const field = `messages[${position}].toolCallId`;
    throw fieldError(
      'orphan_result',
      field,
      `no earlier message contains the tool call ${callId ?? '(no id given)'}, which this result answers`,
    );
  }
  if (made.isAnswered) {
    const field = `messages[${position}].toolCallId`;
    throw fieldError('duplicate_call', field, `the tool call ${callId} already has a result. Send one result per call`);
  }
  made.isAnswered = true;
  return made;
}
