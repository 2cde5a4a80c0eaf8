import type { Message } from '../../src/domain/message.ts';
import {
  listConversations,
  readConversation,
  readDueTimes,
  type StoredPass,
  type StoredSummary,
  type StoredTurn,
} from '../store/stored-conversation.ts';
import { toText } from './snapshot.ts';
import { ref, type World } from './world.ts';

/** Everything that a run leaves behind, except ids, times, epochs and attempts. Two runs that differ in these alone are equal. */
export function normalize({ db, jobs }: World) {
  const found = readConversation(db, ref);
  if (found === undefined) throw new Error('nothing was written');
  const { log, versions, texts, state, pass, mailbox, turnRecords, summaryRecords } = found;
  const copies = listConversations(db).filter((one) => one.ref.id !== ref.id);
  return {
    log: sortRounds(log.map(({ message }) => withoutTime(message))),
    weights: log.at(-1)?.total,
    turns: [...turnRecords.values()].map(normalizeTurn),
    versions: [...versions.values()].map((one) => ({ ...one, at: 0, durationMs: 0 })),
    summaryTexts: [...texts.summaries],
    summaries: new Map([...summaryRecords].map(([hash, one]) => [hash, isClaim(one) ? 'claim' : one])),
    decisions: found.decisions,
    copies: copies.map((copy) => ({ log: copy.log.map(({ message }) => message), isOpen: copy.fork?.isOpen })),
    settled: found.events.filter(({ type }) => type === 'turn_settled').map(({ fields }) => fields),
    left: {
      pass: pass && normalizePass(pass),
      mailbox,
      openCalls: state.openCalls,
      ready: readDueTimes(db),
      jobs: jobs.all.map(({ id }) => id),
    },
    version: state.size.version,
    passed: state.passed,
    backoff: state.backoff,
  };
}

/**
 * The part of the normal form that does not depend on a race between turns and passes. The log and the ends of turns are the
 * same, and no work is left. Versions may differ.
 */
export function normalizeOutcome(world: World): unknown {
  const { log, turns, settled, copies, left } = normalize(world);
  return {
    log,
    turns: turns.map(({ turn, state, answerSeq, done }) => ({ turn, state, answerSeq, done })),
    // A repeated model call may send another context, so its tokens may differ.
    settled: settled.map(({ turn, state }) => ({ turn, state })),
    copies,
    left,
  };
}

function normalizePass({ passId, owner, leaseUntil, parkedUntil, isProposed }: StoredPass) {
  return { passId, owner, leaseUntil, parkedUntil, isProposed };
}

function isClaim(one: StoredSummary): boolean {
  return typeof one !== 'string' && one.owner !== undefined;
}

function normalizeTurn({ turn, state, inputSeq, answerSeq, failure, usage, requestTokens, steps, end }: StoredTurn) {
  const done = [...steps].flatMap(([key, one]) => (one.status === 'done' && one.seqs ? [key] : [])).toSorted();
  return { turn, state, inputSeq, answerSeq, failure, usage, requestTokens, end, done };
}

function withoutTime({ decision, ...message }: Message): Message {
  return decision === undefined ? message : { ...message, decision: { ...decision, at: 0 } };
}

/** Sorts the results of each tool round by call, because results are recorded as they arrive. */
function sortRounds(messages: readonly Message[]): Message[] {
  const sorted: Message[] = [];
  let round: Message[] = [];
  const close = (): void => {
    sorted.push(...round.toSorted((a, b) => (toText(a.toolCallId) < toText(b.toolCallId) ? -1 : 1)));
    round = [];
  };
  for (const message of messages) {
    if (message.role === 'tool') round.push(message);
    else {
      close();
      sorted.push(message);
    }
  }
  close();
  return sorted;
}
