import type { OpenChatTurn, TransportMessage } from '../transport-types.ts';
import { findAnswerOf } from './shown-messages.ts';

/**
 * How the page's last stream of a turn ended. `settled`: with the turn. `waiting`: its calls wait for answers. `refused`:
 * the server does not stream it. `news`: number of lists of open turns that the page had by then.
 */
export interface StreamEnd {
  readonly kind: 'settled' | 'waiting' | 'refused';
  readonly news: number;
}

export interface ChatFacts {
  /** The page may lack messages. */
  readonly isStale: boolean;
  readonly messages: readonly TransportMessage[];
  readonly outbox: readonly { readonly message: TransportMessage }[];
  /** Open turns as the page knows them, oldest first. */
  readonly turns: readonly OpenChatTurn[];
  readonly ends: ReadonlyMap<string, StreamEnd>;
  /** Turns for which the page has loaded the messages. */
  readonly loadedFor: ReadonlySet<string>;
  /** Number of lists of open turns so far. */
  readonly news: number;
}

export type NextStep =
  | { readonly kind: 'load'; readonly turn?: string }
  | { readonly kind: 'stream'; readonly turn: OpenChatTurn }
  | { readonly kind: 'rest' };

const REST: NextStep = { kind: 'rest' };

/** The first open turn that is due. A list of open turns may be older than the end of a stream. */
export function findCurrent({ turns, ends }: Pick<ChatFacts, 'turns' | 'ends'>): OpenChatTurn | undefined {
  return turns.find(({ turn, state }) => state !== 'scheduled' && ends.get(turn)?.kind !== 'settled');
}

export function isWaitingForAnswers({ waiting }: OpenChatTurn): boolean {
  return waiting?.for === 'tools' || waiting?.for === 'approval';
}

/** A call of a tool that has no code in the workers, so the page runs it. */
export interface PageCall {
  readonly type: 'tool-input-available';
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly dynamic: true;
}

interface CallFacts extends Pick<ChatFacts, 'turns' | 'ends'> {
  /** Answers that the page has sent, by the name of the call. */
  readonly decided: ReadonlyMap<string, unknown>;
}

/** Lists the calls that wait for a result from a page. */
export function listPageCalls(facts: CallFacts): { readonly turn: string; readonly calls: readonly PageCall[] } {
  const { turn, waiting } = findCurrent(facts) ?? { turn: '' };
  const open = waiting?.for === 'tools' ? waiting.calls : [];
  const calls = open
    .filter(({ toolCallId, decision }) => decision === undefined && !facts.decided.has(toolCallId))
    .map(({ toolCallId, toolName, input }) => {
      return { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true } as const;
    });
  return { turn, calls };
}

/** Decides what a page does next, once its last step has ended. */
export function findNextStep(facts: ChatFacts): NextStep {
  const { isStale, messages, outbox, ends, loadedFor, news } = facts;
  if (isStale) return { kind: 'load' };
  const current = findCurrent(facts);
  if (current === undefined) return REST;
  const { turn, messageId, text, files } = current;
  const isKnown = [...messages, ...outbox.map(({ message }) => message)].some(({ id }) => id === messageId);
  // The list has the names of files only. The messages have the question of the first open turn with its files.
  const isUnknown = !isKnown && (text === undefined || files !== undefined);
  const shown = findAnswerOf(messages, messageId);
  const isOtherAttempt = shown !== undefined && shown.id !== turn;
  if ((isUnknown || isOtherAttempt) && !loadedFor.has(turn)) return { kind: 'load', turn };
  const end = ends.get(turn);
  if (end?.kind === 'refused') return REST;
  if (end?.kind === 'waiting' && (isWaitingForAnswers(current) || end.news === news)) return REST;
  return { kind: 'stream', turn: current };
}
