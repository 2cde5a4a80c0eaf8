import { ownerPrefix } from '../../src/domain/ids.ts';
import type { Database } from '../../src/store/embedded/database.ts';
import type { Choices } from './choices.ts';
import type { Actor } from './held-calls.ts';
import { type StoredJob, tokenOf } from './memory-jobs.ts';
import { listFields, listOwners, toEssence, toText } from './snapshot.ts';
import { hashText, ID_MARK, joinTemplates, Renaming, type Template, toTemplate } from './templates.ts';
import type { World } from './world.ts';

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
  const keys = db.keys().toSorted();
  return toText(keys.map((key) => describeKey(db, key, { now: clock.now(), isKnown })).filter(Boolean));
}

/** Kinds of keys that no decision depends on: sums, and the list of packing, which begins after an hour. */
const ONLY_SHOWN = /:(usage|unpacked|conversations)$/;
const KIND = /^\{[^}]+\}:(?:[^:]+:)?([a-z]+)/;
/** An end that is further away makes no difference to a search of minutes. */
const NEAR_MS = 600_000;

interface Moment {
  readonly now: number;
  readonly isKnown: (wake: string) => boolean;
}

function describeKey(db: Database, key: string, moment: Moment): unknown {
  if (ONLY_SHOWN.test(key)) return undefined;
  const [, kind] = KIND.exec(key) ?? [];
  const end = db.endOf(key) ?? 0;
  const lasts = end - moment.now < NEAR_MS ? end : 0;
  switch (kind) {
    case 'ev':
      return [key, listSettlements(db, key)];
    // The order of turns is the order in which they were accepted. Other names in the index are those of keys.
    case 'ix':
      return [key, [...(db.get(key, 'hash')?.keys() ?? [])].filter((name) => name.startsWith('t:'))];
    case 'gone':
      // The value counts removed keys. That of an expiry names the call that ended it.
      return key.endsWith(':expiry') ? [key, db.get(key, 'string')] : [key];
    default:
      return [key, listFields(db, key).flatMap((field) => describeField(field, moment.isKnown)), lasts];
  }
}

/** Only the settlements among the events matter, because the final check reads them. */
function listSettlements(db: Database, key: string): unknown {
  const events = db.get(key, 'stream')?.between('-', '+') ?? [];
  return events.map(({ fields }) => fields).filter(([, type]) => type === 'turn_settled');
}

function describeField([name, value]: readonly [string, unknown], isKnown: Moment['isKnown']): unknown[] {
  if (name === 'firstOwner') return [];
  if (name === 'epoch' || name === 'settledBy') return [[name, `${ID_MARK}e${String(value)}`]];
  return [[name, name === 'wake' && !isKnown(String(value)) ? '' : value]];
}

function describeJob(job: StoredJob): Template {
  const { id, queue, data, parent, state, attemptsMade, dueAt, lockedUntil, pending, ended } = job;
  const lock = state === 'active' ? [tokenOf(job), lockedUntil] : [];
  const due = state === 'delayed' ? dueAt : 0;
  return toTemplate(toText([id, queue, data, parent, state, attemptsMade, lock, due, pending, ended]));
}

/** The owners of a worker. Names are numbered again, so the worker's own name would not show whose leases end. */
function ownersOf(db: Database, [worker]: readonly unknown[]): string[] {
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
