import type { Message } from '../../src/domain/message.ts';
import { operationId } from '../../src/domain/operation.ts';
import type { MemoryTurn } from '../../src/memory-store/turn-record.ts';
import { toText } from './snapshot.ts';
import { ref, type World } from './world.ts';

/** Everything that a run leaves behind, except ids, times, epochs and attempts. Two runs that differ in these alone are equal. */
export function normalize({ db, jobs }: World) {
  const found = db.find(ref);
  if (found === undefined) throw new Error('nothing was written');
  const { log, versions, summaries, version, pass, passed, backoff, mailbox, turnRecords, openCalls, summaryRecords } =
    found;
  const copies = [...db.conversations.values()].filter((one) => one !== found);
  return {
    log: sortRounds(log.map(({ message }) => message)),
    weights: log.at(-1)?.total,
    turns: [...turnRecords.values()].map(normalizeTurn),
    versions: [...versions.values()].map((one) => ({ ...one, at: 0, durationMs: 0 })),
    summaryTexts: [...summaries],
    summaries: new Map([...summaryRecords].map(([hash, one]) => [hash, one.kind === 'record' ? one.record : one.kind])),
    // The name of an operation has a hash of its input, which holds ids.
    decisions: [...found.decisions].map(([operation, decision]) => [operationId(operation), decision]),
    copies: copies.map((copy) => ({ log: copy.log.map(({ message }) => message), isOpen: copy.fork?.isOpen })),
    settled: found.events.filter(({ type }) => type === 'turn_settled').map(({ fields }) => fields),
    left: { pass, mailbox, openCalls: [...openCalls], ready: [...db.ready], jobs: jobs.all.map(({ id }) => id) },
    version,
    passed,
    backoff,
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

function normalizeTurn({ turn, state, inputSeq, answerSeq, failure, usage, requestTokens, steps, end }: MemoryTurn) {
  const done = [...steps].flatMap(([key, one]) => (one.status === 'done' && one.seqs ? [key] : [])).toSorted();
  return { turn, state, inputSeq, answerSeq, failure, usage, requestTokens, end, done };
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
