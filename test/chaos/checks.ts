import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Message } from '../../src/domain/message.ts';
import type { Segment } from '../../src/domain/version.ts';
import { QUEUES, queuePrefix } from '../../src/jobs/queues.ts';
import { readConversation, readQuarantined, readReady, type StoredConversation } from './read-database.ts';
import type { AcceptedTurn } from './traffic.ts';

/** A broken rule. */
export interface Finding {
  readonly rule: string;
  readonly conversation: string;
  readonly detail: string;
}

type Check = (stored: StoredConversation, accepted: readonly AcceptedTurn[]) => Iterable<string>;

/** States of a job that has not been removed. */
const STATES = ['active', 'waiting-children', 'wait', 'prioritized', 'delayed', 'failed'] as const;
const SETTLED = new Set(['completed', 'failed', 'canceled']);

/** Rules for each conversation once all work has ended. Each check yields a text for every violation. */
export const CHECKS: Readonly<Record<string, Check>> = {
  *'every accepted turn is settled, once'(stored, accepted) {
    for (const { turn } of accepted) {
      const { state = 'missing' } = stored.turns.get(turn) ?? {};
      if (!SETTLED.has(state)) yield `${turn} is ${state}`;
      const inputs = stored.log.filter((entry) => entry.turn === turn && entry.message.role === 'user');
      if (inputs.length > 1 || (state === 'completed' && inputs.length === 0))
        yield `${turn} has ${inputs.length} inputs in the log`;
      const answers = stored.log.filter((entry) => entry.turn === turn && isFinal(entry.message));
      const { steeredInto } = stored.turns.get(turn) ?? {};
      if (answers.length > 1 || (state === 'completed' && answers.length === 0 && steeredInto === undefined)) {
        yield `${turn} is ${state} with ${answers.length} answers`;
      }
    }
    const ends = stored.events.filter(({ type }) => type === 'turn_settled').map(({ turn }) => turn);
    for (const [turn, all] of Map.groupBy(ends, (end) => end)) {
      if (all.length > 1) yield `${turn} was settled ${all.length} times`;
    }
  },
  *'turns are answered in the order in which they were accepted'(stored, accepted) {
    if (accepted.some(({ isBusy }) => isBusy)) return;
    const inOrder = accepted.filter(
      ({ isDelayed, turn }) => !isDelayed && stored.turns.get(turn)?.['state'] !== 'canceled',
    );
    const seqs = inOrder.flatMap(({ turn }) => stored.log.find((entry) => entry.turn === turn)?.seq ?? []);
    if (seqs.some((seq, index) => seq <= (seqs[index - 1] ?? 0)))
      yield `the inputs of the turns have the seqs ${seqs.join(' ')}`;
    const inputs = new Map(
      stored.log.flatMap(({ turn, seq, message }) =>
        message.role === 'user' && turn !== undefined ? [[turn, seq]] : [],
      ),
    );
    let lastInput = 0;
    for (const { type, turn = '', state } of stored.events) {
      const input = inputs.get(turn);
      if (type !== 'turn_settled' || state === 'canceled' || input === undefined) continue;
      if (input < lastInput) yield `${turn} was settled after a later turn`;
      lastInput = input;
    }
    let last: string | undefined;
    const seen = new Set<string>();
    for (const { turn, seq } of stored.log) {
      if (turn !== undefined && turn !== last && seen.has(turn))
        yield `another turn's messages separate those of ${turn}, before seq ${seq}`;
      if (turn !== undefined) seen.add(turn);
      last = turn;
    }
  },
  *'the log has no gap, and its sums are right'({ log, fields }) {
    if (log.length !== Number(fields['head'] ?? 0)) yield `${log.length} entries, head ${fields['head']}`;
    let total = 0;
    for (const [index, entry] of log.entries()) {
      total += entry.tokens;
      if (entry.seq !== index + 1) yield `entry ${index + 1} has seq ${entry.seq}`;
      if (entry.total.tokens !== total) yield `at ${entry.seq} the sum is ${entry.total.tokens}, not ${total}`;
    }
  },
  *'every call is answered once'({ log }) {
    const open = new Set<string>();
    for (const { seq, message } of log) {
      for (const { id } of message.toolCalls ?? []) {
        if (open.has(id)) yield `two calls have the id ${id}`;
        open.add(id);
      }
      if (message.toolCallId !== undefined && !open.delete(message.toolCallId)) {
        yield `entry ${seq} answers call ${message.toolCallId}, which is not open`;
      }
    }
    if (open.size > 0) yield `calls without a result: ${[...open].join(' ')}`;
  },
  *'versions follow each other, and those of passes are smaller'({ versions, events, fields }) {
    const made = events.filter(({ type }) => type === 'version_committed').map(({ version }) => Number(version));
    for (const [index, number] of made.entries()) {
      const before = made[index - 1];
      if (before !== undefined && number !== before + 1)
        yield `version ${number} was committed after version ${before}`;
    }
    const live = Number(fields['version'] ?? 0);
    if ((versions.at(-1)?.number ?? 0) !== live)
      yield `the live version is ${live}, and the last kept version is ${versions.at(-1)?.number}`;
    for (const [index, { number, parent, cause, tokensBefore, tokensAfter }] of versions.entries()) {
      const before = versions[index - 1]?.number ?? number - 1;
      if (number !== before + 1 || parent !== number - 1)
        yield `version ${number} with parent ${parent} follows version ${before}`;
      if (cause === 'pass' && tokensAfter >= tokensBefore)
        yield `version ${number} has ${tokensAfter} tokens, and its parent ${tokensBefore}`;
    }
  },
  *'every message is covered once, and every summary has its text'({ versions, texts, log }) {
    for (const { number, segments, base } of versions) {
      let next = 1;
      for (const { from, to } of segments) {
        if (from !== next || to < from)
          yield `version ${number} has the segment ${from}-${to} where seq ${next} is next`;
        next = to + 1;
      }
      if (next !== base + 1 || base > log.length) yield `version ${number} covers up to ${next - 1} of ${base}`;
      const missing = segments.filter((segment) => segment.kind === 'summary' && !texts.has(`k:${segment.summaryKey}`));
      if (missing.length > 0)
        yield `version ${number} lacks the texts of the summaries from ${missing.map(({ from }) => from).join(' ')}`;
    }
  },
  *'pinned messages are shown whole'({ versions, log }) {
    const segments: readonly Segment[] = versions.at(-1)?.segments ?? [];
    for (const { seq, message } of log) {
      const holder = segments.find(({ from, to }) => from <= seq && seq <= to);
      if (message.pinned === true && holder !== undefined && holder.kind !== 'raw')
        yield `the pinned message ${seq} is ${holder.kind}`;
    }
  },
  *'no work is left'({ fields, mailbox, pass }) {
    if (mailbox.length > 0) yield `turns in the mailbox: ${mailbox.join(' ')}`;
    for (const field of ['owner', 'lease', 'pass']) {
      if ((fields[field] ?? '') !== '') yield `${field} is ${fields[field]}`;
    }
    if (Object.keys(pass).length > 0) yield `open pass ${pass['passId'] ?? ''} for ${pass['reasons'] ?? '?'}`;
  },
};

/** The conversations in Redis, and the rules that they break. */
export interface Stored {
  readonly conversations: readonly StoredConversation[];
  readonly findings: readonly Finding[];
}

/** Reads and checks every conversation with an accepted turn. */
export async function readFindings(redis: Redis, shards: number, accepted: readonly AcceptedTurn[]): Promise<Stored> {
  const conversations: StoredConversation[] = [];
  const findings: Finding[] = [];
  for (const [id, own] of Map.groupBy(accepted, ({ conversation }) => conversation)) {
    const stored = await readConversation(redis, shards, { id, turns: own.map(({ turn }) => turn) });
    conversations.push(stored);
    findings.push(...checkConversation(stored, own));
  }
  for (const member of await readReady(redis, shards)) {
    const [, , conversation = ''] = member.split('|');
    findings.push({ rule: 'no work is left', conversation, detail: `due entry ${member}` });
  }
  for (const [name, why] of await readQuarantined(redis, shards)) {
    const [, , , conversation = ''] = name.split('|');
    findings.push({ rule: 'no record is unreadable', conversation, detail: `${name}: ${why}` });
  }
  findings.push(...(await checkQueues(redis)));
  return { conversations, findings };
}

async function checkQueues(connection: Redis): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const name of Object.values(QUEUES)) {
    const queue = new Queue(name, { connection, prefix: queuePrefix(0), skipVersionCheck: true });
    const counts = await queue.getJobCounts(...STATES);
    await queue.close();
    for (const [state, count] of Object.entries(counts)) {
      if (count > 0)
        findings.push({ rule: 'no job is left', conversation: '', detail: `${count} ${state} in ${name}` });
    }
    const due = await connection.zcard(queue.toKey('due:wakes'));
    if (due > 0) findings.push({ rule: 'no job is left', conversation: '', detail: `${due} due wakes in ${name}` });
  }
  return findings;
}

function checkConversation(stored: StoredConversation, accepted: readonly AcceptedTurn[]): Finding[] {
  return Object.entries(CHECKS).flatMap(([rule, check]) =>
    [...check(stored, accepted)].map((detail) => ({ rule, conversation: stored.id, detail })),
  );
}

function isFinal({ role, toolCalls }: Message): boolean {
  return role === 'assistant' && toolCalls === undefined;
}
