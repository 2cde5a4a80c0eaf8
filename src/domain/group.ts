import { TurnfoldError } from './errors.ts';
import type { Message } from './message.ts';
import { forEachInSlices, runToEnd, type Sliced } from './sliced.ts';

export type GroupKind = 'system' | 'user' | 'assistant' | 'round' | 'summary';

/**
 * The smallest unit that compaction may remove, e.g. an assistant message with all its tool results. Messages are named
 * by their index in the grouped list.
 */
export interface Group {
  readonly kind: GroupKind;
  /** Indexes of the group's messages, ascending. Only a tool round has more than one. */
  readonly positions: readonly number[];
  /** True for a tool round with a call that has no result yet. */
  readonly isOpen: boolean;
}

interface GroupInProgress {
  kind: GroupKind;
  positions: number[];
  openCalls: number;
}

/**
 * Groups messages, ordered by the first message of each group. A tool call and its result belong together at any
 * distance, because results may arrive late.
 * @throws orphan_result or duplicate_call, with the field `messages[i].…`
 */
export function groupMessages(messages: readonly GroupedMessage[]): Group[] {
  return runToEnd(groupInSlices(messages));
}

type GroupedMessage = Pick<Message, 'role' | 'toolCalls' | 'toolCallId'>;

/** Like `groupMessages`, but yields regularly so that other work can run in between. */
export function* groupInSlices(messages: readonly GroupedMessage[]): Sliced<Group[]> {
  const groups: GroupInProgress[] = [];
  const rounds = new Map<string, GroupInProgress>();
  const answered = new Set<string>();
  yield* forEachInSlices(messages, (message, position) => {
    const { role } = message;
    if (role === 'tool') {
      const round = findRound(rounds, answered, message.toolCallId, position);
      round.positions.push(position);
      round.openCalls -= 1;
      return;
    }
    const calls = role === 'assistant' ? (message.toolCalls ?? []) : [];
    const group: GroupInProgress = {
      kind: calls.length > 0 ? 'round' : role,
      positions: [position],
      openCalls: calls.length,
    };
    groups.push(group);
    calls.forEach((call, index) => {
      if (rounds.has(call.id)) {
        const field = `messages[${position}].toolCalls[${index}].id`;
        throw new TurnfoldError(
          'duplicate_call',
          `${field}: call id ${call.id} is used by two calls. Give each call its own id`,
          { field },
        );
      }
      rounds.set(call.id, group);
    });
  });
  return groups.map(({ kind, positions, openCalls }) => ({ kind, positions, isOpen: openCalls > 0 }));
}

function findRound(
  rounds: ReadonlyMap<string, GroupInProgress>,
  answered: Set<string>,
  callId: string | undefined,
  position: number,
): GroupInProgress {
  const field = `messages[${position}].toolCallId`;
  const round = callId === undefined ? undefined : rounds.get(callId);
  if (callId === undefined || round === undefined) {
    throw new TurnfoldError(
      'orphan_result',
      `${field}: no earlier message contains the tool call ${callId ?? '(no id given)'}, which this result answers`,
      {
        field,
      },
    );
  }
  if (answered.has(callId)) {
    throw new TurnfoldError(
      'duplicate_call',
      `${field}: the tool call ${callId} already has a result. Send one result per call`,
      { field },
    );
  }
  answered.add(callId);
  return round;
}

/** For each message index, returns the index of its group. */
export function indexGroups(groups: readonly Group[], messageCount: number): number[] {
  const groupOf = new Array<number>(messageCount).fill(-1);
  groups.forEach((group, index) => {
    for (const position of group.positions) groupOf[position] = index;
  });
  return groupOf;
}
