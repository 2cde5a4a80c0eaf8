import { endBefore } from '../../domain/compaction/restore.ts';
import type { Leaving } from '../../domain/leaving.ts';
import { NO_WEIGHT } from '../../domain/message.ts';
import { contextSize, upperBoundTokens } from '../../domain/size.ts';
import { START_VERSION } from '../../domain/version.ts';
import type { RunningTurn } from './turn-ports.ts';

/** Most messages before a turn in which turns without an answer are searched. */
const SEARCHED_MESSAGES = 100;

/**
 * Returns the messages that leave the context after a provider refused what a request says or holds. No model has
 * answered them: those of this turn, and of canceled or failed turns directly before it.
 */
export async function leaveUnanswered({ claimed, ports }: RunningTurn): Promise<Leaving> {
  const { inputSeq, lease } = claimed;
  const earliest = Math.max(1, inputSeq - SEARCHED_MESSAGES);
  const range = { from: earliest, to: inputSeq - 1 };
  const before = inputSeq === 1 ? [] : await ports.contexts.readLog(lease.conversation, [range]);
  let from = inputSeq;
  for (let last = before.at(-1); last?.turn !== undefined; last = before[from - earliest - 1]) {
    const { turn, message } = last;
    if (message.role === 'assistant' && message.toolCalls === undefined) break;
    const first = before.find((entry) => entry.turn === turn);
    // The start of a long turn is not read, and a part of a turn cannot leave.
    if (first === undefined || (first === before[0] && earliest > 1)) break;
    from = first.seq;
  }
  return { from, why: 'refused' };
}

/**
 * Returns the messages that leave the context after a refusal without a known cause. They leave if a provider has accepted
 * everything else in the request before. Otherwise the cause may be the agent's settings or an older message.
 */
export async function leaveIfNew(run: RunningTurn): Promise<Leaving | undefined> {
  const { journal, context } = run;
  const { answeredVersion, head } = journal.conversation;
  const leaving = await leaveUnanswered(run);
  if (answeredVersion !== undefined) return leaving;
  const { messages } = await context.read(journal.conversation);
  return messages.length <= head - leaving.from + 1 ? leaving : undefined;
}

/**
 * Returns the messages that leave the context after a request was too large. These are the messages of this turn, if a
 * request with them alone would exceed the window.
 * @param isRefused true if the provider refused the request as too long, and compaction could not help
 */
export async function leaveAsTooLarge(run: RunningTurn, isRefused: boolean): Promise<Leaving | undefined> {
  const from = run.claimed.inputSeq;
  const isOwn = (await isOwnTooLarge(run)) || (isRefused && (await leaveIfNew(run)) !== undefined);
  return isOwn ? { from, why: 'too_large' } : undefined;
}

async function isOwnTooLarge({ claimed, journal, ports, prepared }: RunningTurn): Promise<boolean> {
  const { inputSeq, lease } = claimed;
  const { overhead, limits } = prepared;
  const { usable, upperBoundFactor } = limits;
  const [input] = await ports.contexts.readLog(lease.conversation, [{ from: inputSeq, to: inputSeq }]);
  const before = endBefore(input);
  if (usable === undefined || before === undefined) return false;
  const { headTotal } = journal.conversation.size;
  const own = { version: START_VERSION.number, weight: NO_WEIGHT, baseTotal: before.total, headTotal };
  const fits = (tokens: number): boolean => upperBoundTokens(tokens, upperBoundFactor) <= usable;
  // A system prompt that alone exceeds the window is no fault of the turn.
  return fits(overhead.tokens) && !fits(contextSize(own, overhead).tokens);
}
