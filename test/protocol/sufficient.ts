import type { PassLease } from '../../src/domain/ports/pass-store.ts';
import type { TurnLease } from '../../src/domain/ports/turn-store.ts';
import type { Choice, Choices } from './choices.ts';
import type { HeldCall } from './held-calls.ts';
import type { World } from './world.ts';

/** Those that are answered by nothing but `fenced` or `superseded` once their lease is lost. */
const VAIN_TURN: ReadonlySet<string> = new Set(['startSteps', 'recordStep', 'suspend']);
const VAIN_PASS: ReadonlySet<string> = new Set(['readReasons', 'recordPlan']);
/** Scripts that may write an entry which is due now. */
const DUE_AT_ONCE: ReadonlySet<string> = new Set(['suspend', 'rollBackVersion', 'refuseApproval']);

/**
 * Choices of one call, or of one job that waits, which alone need be gone into here; undefined where none are known. Whatever else may
 * happen first neither changes what they do nor is changed by it, and none of them touches what I1–I6 speak of. So each run
 * that does something else first has its like that does this first, with the same stores all along and the same end. (A
 * persistent set, invisible. It needs that time stands still: else a lock could lapse in between. That it may not be put off for
 * ever is given: time does not pass before it has happened.)
 * @param mayBeDueAtOnce turns may leave an entry that is due as soon as it is written
 */
export function findSufficient(
  world: World,
  choices: Choices,
  { list, mayBeDueAtOnce }: { readonly list: readonly Choice[]; readonly mayBeDueAtOnce: boolean },
): readonly Choice[] | undefined {
  const vain = list.find(({ kind, call }) => kind === 'act' && call && isInVain(world, call) && isAlone(world, call));
  if (vain !== undefined) return list.filter(({ call }) => call === vain.call);
  if (!mayBeDueAtOnce) checkNothingDueAtOnce(list);
  if (!choices.isTimeStill) return undefined;
  const looked = choices.mayLook(mayBeDueAtOnce) ? findLookedAt(world) : new Set<string>();
  for (const choice of list) {
    const { kind, call, job } = choice;
    if (kind === 'take' && !looked.has(job?.id ?? '')) return [choice];
    if (kind === 'act' && call !== undefined && isAlone(world, call) && isLeftAlone(world, call, looked)) {
      return list.filter((other) => other.call === call);
    }
  }
  return undefined;
}

function checkNothingDueAtOnce(list: readonly Choice[]): void {
  const found = list.find(({ call }) => DUE_AT_ONCE.has(call?.operation ?? ''));
  if (found !== undefined) throw new Error(`${found.name}: something may be due at once`);
}

/** Refused whenever it happens: no epoch, no owner and no token comes up again, and nobody erases. */
function isInVain({ db, jobs }: World, { actor, room, operation, args }: HeldCall): boolean {
  if (room === 'job' && operation !== 'count' && actor.origin.kind === 'job') return !jobs.isHeld(actor.origin.job);
  if (VAIN_TURN.has(operation)) {
    const { conversation, epoch } = args[0] as TurnLease;
    return epoch !== db.find(conversation)?.epoch;
  }
  if (!VAIN_PASS.has(operation)) return false;
  const { conversation, passId, owner } = args[0] as PassLease;
  const { pass } = db.find(conversation) ?? {};
  return pass?.passId !== passId || pass.owner !== owner;
}

/** Wakes of which the sweeper may ask whether they are in the queue. One that is recorded nowhere by now never will be. */
function findLookedAt({ db, held }: World): Set<string> {
  const asked = held.all.filter(({ operation }) => operation === 'isPending').map(({ args }) => String(args[2]));
  const recorded = [...db.conversations.values()].flatMap(({ wake, pass }) => [wake, pass?.wake]);
  return new Set([...asked, ...recorded.filter((wake) => wake !== undefined)]);
}

/** Its actor does nothing else meanwhile, and cannot die of anything else. */
function isAlone({ held }: World, call: HeldCall): boolean {
  return held.all.every((other) => other === call || other.actor !== call.actor);
}

/** Of the queue, and nobody else has to do with the jobs that it touches. */
function isLeftAlone(world: World, { actor, room, operation, args }: HeldCall, looked: ReadonlySet<string>): boolean {
  if (operation === 'wake') return !looked.has(String(args[2]));
  if (actor.origin.kind !== 'job' || (room !== 'job' && room !== 'queue')) return false;
  const { id, parent } = actor.origin.job;
  switch (operation) {
    case 'delay':
      return true;
    case 'end':
    case 'failAttempt':
      // A parent that is not parked yet may still ask how many are left.
      return parent === undefined || (world.jobs.find(parent)?.state === 'waiting-children' && !looked.has(parent));
    case 'count':
      return world.jobs.find(id)?.pending.size === 0 && isOnlyDelivery(world, id, actor);
    case 'addBulk':
      return isOnlyDelivery(world, id, actor);
    default:
      return false;
  }
}

function isOnlyDelivery({ working }: World, id: string, actor: HeldCall['actor']): boolean {
  return [...working].every(
    (other) => other === actor || other.process.isDead || other.origin.kind !== 'job' || other.origin.job.id !== id,
  );
}
