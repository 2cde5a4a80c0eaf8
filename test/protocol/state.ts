import { ownerPrefix } from '../../src/domain/ids.ts';
import type { MemoryConversation, MemoryDatabase } from '../../src/memory-store/database.ts';
import type { Choices } from './choices.ts';
import type { Actor } from './held-calls.ts';
import { type StoredJob, tokenOf } from './memory-jobs.ts';
import { listOwners, sortEntries, toEssence, toText } from './snapshot.ts';
import { hashText, joinTemplates, Renaming, type Template, toTemplate } from './templates.ts';
import type { World } from './world.ts';

/** The sweeper runs once a second, so a longer time since its last run makes no difference. */
const SWEEP_MS = 1_000;

/**
 * Describes a state: the stores, the queues, and all replies to each actor at work. Two states with equal texts continue in the
 * same way. The text omits the past that cannot matter: names and times are numbered again (`Template`), actors that ended are
 * left out, and actors are sorted. So two workers that swapped roles are one state.
 */
export function describeState(world: World, choices: Choices): string {
  const { clock, held, jobs, working } = world;
  const renaming = new Renaming(clock.now());
  const ids = new Set(jobs.all.map(({ id }) => id));
  const inFlight = toText(held.all.map(({ args }) => args));
  const stored = renaming.write(toTemplate(describeStore(world, (wake) => ids.has(wake) || inFlight.includes(wake))));
  const living = new Set([...working, ...held.all.map(({ actor }) => actor)].filter(({ process }) => !process.isDead));
  const queued = renaming.writeAll(jobs.all.map(describeJob));
  const atWork = renaming.writeAll([...living].map((actor) => describeActor(world, actor)));
  return hashText([stored, queued, atWork, choices.describe()].join('\n\n'));
}

function describeStore({ db, clock }: World, isKnown: (wake: string) => boolean): string {
  const now = clock.now();
  const due = [...db.ready].toSorted(([, a], [, b]) => a - b).filter(([, at]) => at <= now);
  const sweptMs = [...db.lastSweepMsByShard].map(([shard, at]) => [shard, Math.min(now - at, SWEEP_MS)]);
  const whole = [
    [...db.conversations.values()].map(withoutHistory),
    sortEntries(db.ready),
    due.map(([member]) => member),
    sortEntries(db.sweeps),
    sweptMs,
  ];
  return toEssence(whole, isKnown);
}

/** Only the settlements among the events matter, because the final check reads them. */
function withoutHistory({ events, turnRecords, pass, ...conversation }: MemoryConversation): unknown {
  const settled = events.filter(({ type }) => type === 'turn_settled').map(({ fields }) => fields);
  const turns = [...turnRecords].map(([turn, record]) => [turn, sortFields(record)]);
  return [sortFields(conversation), turns, pass && sortFields(pass), settled];
}

/** The order in which fields were written makes no difference. */
function sortFields(record: object): unknown {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function describeJob(job: StoredJob): Template {
  const { id, queue, data, parent, state, attemptsMade, dueAt, lockedUntil, pending, ended } = job;
  const lock = state === 'active' ? [tokenOf(job), lockedUntil] : [];
  const due = state === 'delayed' ? dueAt : 0;
  return toTemplate(toText([id, queue, data, parent, state, attemptsMade, lock, due, pending, ended]));
}

/** The owners of a worker. Names are numbered again, so the worker's own name would not show whose leases end. */
function ownersOf(db: MemoryDatabase, [worker]: readonly unknown[]): string[] {
  return listOwners(db)
    .filter((owner) => owner.startsWith(ownerPrefix(String(worker))))
    .toSorted();
}

function describeActor({ held, clock, db }: World, actor: Actor): Template {
  const { name, origin, begunAt, replies } = actor;
  const { job } = origin.kind === 'job' ? origin : { job: undefined };
  const calls = held.all
    .filter((call) => call.actor === actor)
    .map(
      ({ number, room, operation, args, isResent }) =>
        `${number} ${room}.${operation} ${isResent} ${toEssence(operation === 'lapseLeases' ? ownersOf(db, args) : args)}`,
    );
  const begun = [name, origin.kind, job?.id, job?.token, job?.attemptsMade, clock.now() - begunAt];
  return joinTemplates([
    toTemplate(begun.join(' ')),
    ...replies.map(({ template }) => template),
    toTemplate(calls.toSorted().join('\n')),
  ]);
}
