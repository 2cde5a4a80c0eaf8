import type { MemoryConversation } from '../../src/memory-store/database.ts';
import type { Choices } from './choices.ts';
import type { Actor } from './held-calls.ts';
import { type StoredJob, tokenOf } from './memory-jobs.ts';
import { sortEntries, toEssence, toText } from './snapshot.ts';
import { hashText, joinTemplates, Renaming, type Template, toTemplate } from './templates.ts';
import type { World } from './world.ts';

/** A sweep is no more than once a second: how long ago the last was does not matter beyond it. */
const SWEEP_MS = 1_000;

export interface State {
  /** the same for all states that go on in the same way */
  readonly key: string;
  /** a choice's name as it is called in every state of this key */
  readonly rename: (name: string) => string;
}

/**
 * A state is what the stores and the queues hold, and for each actor at work all that it was told. Left out is how it came to
 * that: names and times are given anew (`Template`), an actor whose work is done is forgotten, and who of those at work came
 * first. So two workers that stand where the other one stood are no new state, and neither is what goes on after a fault as it
 * would have gone on without.
 */
export function describeState(world: World, choices: Choices): State {
  const { clock, held, jobs, working } = world;
  const renaming = new Renaming(clock.now());
  const ids = new Set(jobs.all.map(({ id }) => id));
  const inHand = toText(held.all.map(({ args }) => args));
  const stored = writeStored(world, renaming, (wake) => ids.has(wake) || inHand.includes(wake));
  const living = new Set([...working, ...held.all.map(({ actor }) => actor)].filter(({ process }) => !process.isDead));
  const queued = renaming.writeAll(jobs.all.map(describeJob));
  const atWork = renaming.writeAll([...living].map((actor) => describeActor(world, actor)));
  return {
    key: hashText([stored, queued, atWork, choices.describe()].join('\n\n')),
    rename: (name) => renaming.renameIn(name),
  };
}

/** What the stores hold, and nothing else: by which two searches are compared. */
export function describeStored(world: World): string {
  return hashText(writeStored(world, new Renaming(world.clock.now())));
}

function writeStored({ db, clock }: World, renaming: Renaming, isKnown?: (wake: string) => boolean): string {
  const now = clock.now();
  const due = [...db.ready].toSorted(([, a], [, b]) => a - b).filter(([, at]) => at <= now);
  const sweptMs = [...db.lastSweepMsByShard].map(([shard, at]) => [shard, Math.min(now - at, SWEEP_MS)]);
  const whole = [
    [...db.conversations.values()].map(withoutStory),
    sortEntries(db.ready),
    due.map(([member]) => member),
    sortEntries(db.sweeps),
    sweptMs,
  ];
  return renaming.write(toTemplate(toEssence(whole, isKnown)));
}

/** Of its events nobody reads any but those by which the end is judged. */
function withoutStory({ events, turnRecords, pass, ...conversation }: MemoryConversation): unknown {
  const settled = events.filter(({ type }) => type === 'turn_settled').map(({ fields }) => fields);
  const turns = [...turnRecords].map(([turn, record]) => [turn, sortFields(record)]);
  return [sortFields(conversation), turns, pass && sortFields(pass), settled];
}

/** In which order its fields came to be is no part of what a record says. */
function sortFields(record: object): unknown {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function describeJob(job: StoredJob): Template {
  const { id, queue, data, parent, state, attemptsMade, dueAt, lockedUntil, pending, ended } = job;
  const held = state === 'active' ? [tokenOf(job), lockedUntil] : [];
  const due = state === 'delayed' ? dueAt : 0;
  return toTemplate(toText([id, queue, data, parent, state, attemptsMade, held, due, pending, ended]));
}

function describeActor({ held, clock }: World, actor: Actor): Template {
  const { name, origin, begunAt, heard } = actor;
  const { job } = origin.kind === 'job' ? origin : { job: undefined };
  const calls = held.all
    .filter((call) => call.actor === actor)
    .map(
      ({ number, room, operation, args, isResent }) => `${number} ${room}.${operation} ${isResent} ${toEssence(args)}`,
    );
  const begun = [name, origin.kind, job?.id, job?.token, job?.attemptsMade, clock.now() - begunAt];
  return joinTemplates([
    toTemplate(begun.join(' ')),
    ...heard.map(({ template }) => template),
    toTemplate(calls.toSorted().join('\n')),
  ]);
}
