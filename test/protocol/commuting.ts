import type { Choice } from './choices.ts';
import type { HeldCall } from './held-calls.ts';
import type { Shared } from './shared.ts';
import { textOfDatabase, toText } from './snapshot.ts';
import type { World } from './world.ts';

const READ = /^(read|list)/;

/**
 * Whether two things that may happen now may as well happen in the other order: neither takes the other away, and both orders
 * lead to the same state with the same answers. Said of two scripts by running them both ways on copies, so nothing has to be
 * believed of which fields they read and write. Where in doubt: no.
 */
export async function doCommute(world: World, a: Choice, b: Choice): Promise<boolean> {
  if (movesTime(a) || movesTime(b)) return false;
  // One budget for all faults: of two the second may not be there any more.
  if (a.fault !== undefined && b.fault !== undefined) return false;
  if (a.call !== undefined && a.call.actor === b.call?.actor) return false;
  if (a.kind === 'sweep' || b.kind === 'sweep') return isOfQueue(a.kind === 'sweep' ? b : a);
  const [one, other] = [footprint(a), footprint(b)];
  if (one === undefined || other === undefined) return true;
  if (one.kind !== other.kind) return true;
  if (one.kind === 'jobs' && other.kind === 'jobs') return !one.ids.some((id) => other.ids.includes(id));
  if (one.kind === 'store' && other.kind === 'store') return await commuteInStore(world, one.call, other.call);
  return false;
}

export function movesTime({ kind }: Choice): boolean {
  return kind === 'lapse' || kind === 'time';
}

/** Whether something is due is written in the stores. A death frees nobody who would sweep: else there would be no sweep now. */
function isOfQueue(choice: Choice): boolean {
  const touched = footprint(choice);
  return touched?.kind === 'jobs' || (touched === undefined && choice.kind !== 'sweep');
}

type Footprint =
  | { readonly kind: 'store'; readonly call: HeldCall }
  | { readonly kind: 'jobs'; readonly ids: readonly string[] };

/** What it touches of what all share; undefined: nothing. */
function footprint({ kind, call, job }: Choice): Footprint | undefined {
  if (kind === 'take') return { kind: 'jobs', ids: [job?.id ?? ''] };
  if (call === undefined || kind === 'death' || kind === 'lost wake') return undefined;
  const { room, args } = call;
  if (room === 'wakes') return { kind: 'jobs', ids: [String(args[2])] };
  if (room !== 'job' && room !== 'queue') return { kind: 'store', call };
  const { origin } = call.actor;
  const own = origin.kind === 'job' ? [origin.job.id, origin.job.parent ?? ''] : [];
  return { kind: 'jobs', ids: [...own, ...childrenIn(call)] };
}

/** `addBulk` is called with the children, one by one. */
function childrenIn({ room, args }: HeldCall): readonly string[] {
  return room === 'queue' ? (args as { opts: { jobId: string } }[]).map(({ opts }) => opts.jobId) : [];
}

async function commuteInStore(world: World, a: HeldCall, b: HeldCall): Promise<boolean> {
  if (READ.test(a.operation) && READ.test(b.operation)) return true;
  const forth = await runBoth(world.copyShared(), a, b);
  const back = await runBoth(world.copyShared(), b, a);
  return forth.stored === back.stored && forth.first === back.second && forth.second === back.first;
}

interface BothRun {
  readonly first: string;
  readonly second: string;
  readonly stored: string;
}

async function runBoth(shared: Shared, a: HeldCall, b: HeldCall): Promise<BothRun> {
  const first = toText(await tryCall(shared, a)) ?? '';
  const second = toText(await tryCall(shared, b)) ?? '';
  return { first, second, stored: textOfDatabase(shared.db) };
}

async function tryCall(shared: Shared, call: HeldCall): Promise<unknown> {
  return await call.act(shared).catch((error: unknown) => error);
}
