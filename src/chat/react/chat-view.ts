import type { OpenChatTurn, TransportMessage } from '../transport-types.ts';
import type { DurableChat, QueuedMessage } from './durable-chat.ts';
import { findCurrent, isWaitingForAnswers } from './next-step.ts';
import { listFileNames, listHidden, type Outgoing } from './outbox.ts';
import type { SessionState } from './session-state.ts';
import { findQuestionId, putQuestion, readText, showLive, writeQuestion } from './shown-messages.ts';

type ChatView<Message> = Pick<
  DurableChat<Message>,
  'status' | 'messages' | 'queue' | 'waiting' | 'current' | 'isConnected' | 'hasEarlier' | 'isLoadingEarlier' | 'error'
>;

/** Describes what a page shows. @param live last message of the stream that the page reads */
export function describeChat<Message extends TransportMessage>(
  state: SessionState<Message>,
  live: Message | undefined,
): ChatView<Message> {
  const { turns, streaming, isConnected, isLoadingEarlier, before, error } = state;
  const shown: readonly Message[] =
    streaming === undefined || live === undefined
      ? state.messages
      : showLive(state.messages, live, findQuestionId(live.id, turns));
  const current = findCurrent(state);
  const unseen = listHidden(state.outbox, shown, turns);
  const { messages, front } = addFront(shown, { current, outbox: state.outbox, unseen });
  const hasBegun = streaming !== undefined && live?.role === 'assistant' && live.parts.length > 0;
  const status = describeStatus(state, current, { hasFront: front !== undefined, hasBegun });
  return {
    status,
    messages,
    queue: [...listQueued(state, current, messages), ...listUnseen(unseen, front, turns.length)],
    waiting: status === 'waiting' ? describeWait(current, state.decided) : undefined,
    current,
    isConnected,
    hasEarlier: before !== undefined,
    isLoadingEarlier,
    error,
  };
}

interface Front<Message> {
  readonly current: OpenChatTurn | undefined;
  readonly outbox: readonly Outgoing<Message>[];
  readonly unseen: readonly Outgoing<Message>[];
}

/** The message that is answered next stands with the messages, also before a worker has begun its turn. */
function addFront<Message extends TransportMessage>(
  shown: readonly Message[],
  { current, outbox, unseen }: Front<Message>,
): { readonly messages: readonly Message[]; readonly front: Outgoing<Message> | undefined } {
  if (current === undefined) {
    const front = unseen.find(({ state }) => state === 'sending' || state === 'accepted');
    return { messages: front === undefined ? shown : putQuestion(shown, front.message), front };
  }
  const { messageId, text } = current;
  if (text === undefined || shown.some(({ id }) => id === messageId)) return { messages: shown, front: undefined };
  const sent = outbox.find(({ message }) => message.id === messageId)?.message;
  return { messages: putQuestion(shown, sent ?? writeQuestion<Message>(messageId, text)), front: undefined };
}

function describeStatus<Message extends TransportMessage>(
  { phase, streaming }: SessionState<Message>,
  current: OpenChatTurn | undefined,
  { hasFront, hasBegun }: { readonly hasFront: boolean; readonly hasBegun: boolean },
): DurableChat<Message>['status'] {
  if (phase !== 'open') return phase;
  if (streaming === undefined && current !== undefined && isWaitingForAnswers(current)) return 'waiting';
  // Parts of an answer come before the news that its turn has begun.
  if (streaming !== undefined && (hasBegun || current?.state !== 'queued')) return 'answering';
  if (current === undefined) return hasFront ? 'queued' : 'ready';
  return current.state === 'queued' ? 'queued' : 'answering';
}

function listQueued<Message extends TransportMessage>(
  { turns, outbox }: SessionState<Message>,
  current: OpenChatTurn | undefined,
  shown: readonly TransportMessage[],
): QueuedMessage[] {
  const replaced = new Set(outbox.map(({ replaces }) => replaces));
  return turns
    .filter((turn) => turn !== current && !replaced.has(turn.messageId))
    .flatMap(({ messageId: id, text, files, state, position }) => {
      // A turn that a worker has begun is no longer in the queue. An old list may still have its text.
      if (text === undefined || shown.some((message) => message.id === id)) return [];
      const names = files?.map(({ filename = 'file' }) => filename);
      const isScheduled = state === 'scheduled';
      return [{ id, text, ...(names && { files: names }), state: 'queued' as const, position, isScheduled }];
    });
}

function listUnseen<Message extends TransportMessage>(
  unseen: readonly Outgoing<Message>[],
  front: Outgoing<Message> | undefined,
  position: number,
): QueuedMessage[] {
  return unseen
    .filter((entry) => entry !== front)
    .map((entry) => {
      const { message, state, onBusy, error } = entry;
      const files = listFileNames(entry);
      return {
        id: message.id,
        text: readText(message),
        ...(files.length > 0 && { files }),
        state: state === 'accepted' ? (onBusy === 'steer' ? 'steering' : 'queued') : state,
        position,
        isScheduled: false,
        ...(error && { error }),
      };
    });
}

/** A decision of this page is shown at once, before the server lists it. */
function describeWait(
  current: OpenChatTurn | undefined,
  decided: SessionState<TransportMessage>['decided'],
): DurableChat<TransportMessage>['waiting'] {
  if (current?.waiting === undefined) return undefined;
  const { turn, messageId, waiting } = current;
  const calls = waiting.calls.map((call) => {
    const decision = call.decision ?? decided.get(call.approvalId ?? '') ?? decided.get(call.toolCallId);
    return decision === undefined ? call : { ...call, decision };
  });
  return { turn, messageId, ...waiting, calls };
}
