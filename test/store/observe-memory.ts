import type { ConversationRef } from '../../src/domain/ids.ts';
import type { MemoryDatabase } from '../../src/memory-store/database.ts';
import { waitingTurns } from '../../src/memory-store/listing-store.ts';
import type { MemoryTurn } from '../../src/memory-store/turn-record.ts';
import { type Observation, type ObservedTurn, withoutTimes } from './observation.ts';

export function observeMemory(db: MemoryDatabase, ref: ConversationRef): Observation {
  const conversation = db.find(ref);
  const waiting = waitingTurns(db).filter(({ conversation: id }) => id === ref.id);
  const name = `${ref.tenant}|${ref.id}`;
  const ready = [...db.ready].flatMap(([member, at]) => {
    const rest = member.slice(2);
    if (rest === name) return [[member.slice(0, 1), at] as const];
    return rest.startsWith(`${name}|`) ? [[`d|${rest.slice(name.length + 1)}`, at] as const] : [];
  });
  const lease = conversation?.leaseUntil;
  const anchor = conversation?.anchor;
  return {
    shape: {
      mailbox: [...(conversation?.mailbox ?? [])],
      turns: Object.fromEntries([...(conversation?.turnRecords ?? [])].map(([id, turn]) => [id, observeTurn(turn)])),
      ...(conversation?.owner !== undefined && { owner: conversation.owner }),
      attempts: conversation?.attempts ?? 0,
      ...(conversation?.wake !== undefined && { wake: conversation.wake }),
      ...(conversation?.poisoned && { poisonedTurn: conversation.poisoned.turn }),
      openCalls: Object.fromEntries(conversation?.openCalls ?? []),
      log: (conversation?.log ?? []).map(({ message, total, turn }) => ({
        role: message.role,
        content: message.content,
        ...(message.toolCallId !== undefined && { toolCallId: message.toolCallId }),
        ...(turn !== undefined && { turn }),
        totalTokens: total.tokens,
        totalBytes: total.bytes,
      })),
      userMessages: conversation?.turns ?? 0,
      ...(anchor && { anchor: { seq: anchor.seq, tokens: anchor.tokens } }),
      texts: Object.fromEntries(conversation?.texts ?? []),
      ...(conversation?.pass && { passId: conversation.pass.passId }),
      isSteered: conversation?.isSteered === true,
      undo: (conversation?.undo ?? []).flatMap(({ from, to }) => [from, to]),
      events: (conversation?.events ?? []).map(({ type, fields }) =>
        withoutTimes([type, ...Object.values(fields)].join(' ')),
      ),
      ready: ready.map(([member]) => member).toSorted(),
      waiting: waiting.map((position) => `${position.waiting.for}|${position.turn}`),
    },
    times: {
      now: db.now(),
      epoch: conversation?.epoch ?? 0,
      ...(lease !== undefined && { lease }),
      ready: Object.fromEntries(ready),
    },
  };
}

function observeTurn(turn: MemoryTurn): ObservedTurn {
  const { state, agent, inputSeq, answerSeq, failure, canceledBy, usage, waiting, steeredInto, requests } = turn;
  return {
    state,
    agent,
    hasInput: turn.input !== undefined,
    ...(inputSeq !== undefined && { inputSeq }),
    ...(answerSeq !== undefined && { answerSeq }),
    ...(failure && { failureCode: failure.code }),
    ...(canceledBy !== undefined && { canceledBy }),
    isSteering: turn.isSteering === true,
    ...(steeredInto !== undefined && { steeredInto }),
    ...(requests && { requests }),
    steps: Object.fromEntries([...turn.steps].map(([key, { at: _, ...step }]) => [key, step])),
    answers: Object.fromEntries(turn.answers),
    suspensions: Object.fromEntries(turn.suspensions),
    ...(waiting && {
      waiting: {
        for: waiting.for,
        step: waiting.step,
        calls: waiting.calls.map(({ id }) => id),
        isOver: waiting.isOver,
        isFulfilled: waiting.isFulfilled,
      },
    }),
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    requestTokens: turn.requestTokens ?? [],
  };
}
