import { createHash } from 'node:crypto';
import { Choices, type Faults } from './choices.ts';
import { settle } from './held-calls.ts';
import { watch } from './invariants.ts';
import { sortEntries, toEssence, toText } from './snapshot.ts';
import type { World } from './world.ts';

export interface Exploration {
  /** the world as it begins, its clients under way */
  readonly open: () => Promise<World>;
  readonly faults: Faults;
  /** what holds once nothing is left to do; throws where it does not */
  readonly checkEnd: (world: World) => void;
  readonly maxPaths: number;
  readonly maxMs: number;
}

export interface Explored {
  readonly states: number;
  readonly paths: number;
  readonly ends: number;
  readonly longest: number;
  readonly isComplete: boolean;
}

/** A run this long does not come to an end. */
const MAX_STEPS = 400;

interface Node {
  readonly choices: readonly string[];
  taken: number;
}

/** A property does not hold; `path` leads there. */
export class Counterexample extends Error {
  readonly path: readonly string[];
  readonly invariant: string;

  constructor(cause: unknown, path: readonly string[]) {
    super(`${cause instanceof Error ? cause.message : String(cause)}\n  ${path.join('\n  ')}`, { cause });
    this.path = path;
    this.invariant = /^I\d/.exec(cause instanceof Error ? cause.message : '')?.[0] ?? 'end';
  }
}

/**
 * Takes every choice at every state, depth first. The workers are real code, which cannot be copied in mid-flight, so each path is
 * played from its beginning; a state that was met before is not gone into again. A state is what the stores and queues hold, the
 * time, and for each actor at work all that it was told.
 */
export async function explore(exploration: Exploration): Promise<Explored> {
  const known = new Set<string>();
  const stack: Node[] = [];
  const startedAt = performance.now();
  let [paths, ends, longest] = [0, 0, 0];
  for (;;) {
    const ended = await playPath(exploration, stack, known);
    paths += 1;
    if (ended.isEnd) ends += 1;
    longest = Math.max(longest, ended.steps);
    while (stack.length > 0 && isSpent(stack.at(-1))) stack.pop();
    const last = stack.at(-1);
    const isComplete = last === undefined;
    const isOver = paths >= exploration.maxPaths || performance.now() - startedAt > exploration.maxMs;
    if (isComplete || isOver) return { states: known.size, paths, ends, longest, isComplete };
    last.taken += 1;
  }
}

/** Plays paths by chance, for what is too large to be explored whole. @returns steps taken */
export async function walk(
  { open, faults, checkEnd, maxPaths, maxMs }: Exploration,
  random: () => number,
): Promise<{ readonly paths: number; readonly steps: number }> {
  const startedAt = performance.now();
  let [paths, steps] = [0, 0];
  for (; paths < maxPaths && performance.now() - startedAt < maxMs; paths += 1) {
    const world = await open();
    const choices = new Choices(world, faults);
    const path: string[] = [];
    try {
      for (;;) {
        await playLocal(world, choices);
        const list = choices.list();
        const choice = list[Math.floor(random() * list.length)];
        if (choice === undefined) break;
        path.push(choice.name);
        if (path.length > MAX_STEPS) throw new Error(`still at work after ${MAX_STEPS} steps`);
        await choice.happen();
      }
      checkEnd(world);
    } catch (error) {
      throw new Counterexample(error, path);
    }
    steps += path.length;
  }
  return { paths, steps };
}

function isSpent(node: Node | undefined): boolean {
  return node === undefined || node.taken + 1 >= node.choices.length;
}

async function playPath(
  { open, faults, checkEnd }: Exploration,
  stack: Node[],
  known: Set<string>,
): Promise<{ readonly isEnd: boolean; readonly steps: number }> {
  const world = await open();
  const choices = new Choices(world, faults);
  const path: string[] = [];
  try {
    for (let depth = 0; ; depth += 1) {
      if (depth > MAX_STEPS) throw new Error(`still at work after ${MAX_STEPS} steps`);
      await playLocal(world, choices);
      const list = choices.list();
      let node = stack[depth];
      if (node === undefined) {
        if (list.length === 0) {
          checkEnd(world);
          return { isEnd: true, steps: depth };
        }
        const state = hashState(world, choices);
        if (known.has(state)) return { isEnd: false, steps: depth };
        known.add(state);
        node = { choices: list.map(({ name }) => name), taken: 0 };
        stack.push(node);
      }
      const choice = list[node.taken];
      if (choice === undefined || choice.name !== node.choices[node.taken]) throw new Error('not the same run again');
      path.push(choice.name);
      await choice.happen();
    }
  } catch (error) {
    throw new Counterexample(error, path);
  }
}

async function playLocal(world: World, choices: Choices): Promise<void> {
  await settle();
  for (let call = choices.findLocal(); call !== undefined; call = choices.findLocal()) {
    const local = call;
    await watch(world.db, local, () => world.held.release(local));
    await settle();
  }
  if (world.failures.length > 0) throw world.failures[0];
}

function hashState(world: World, choices: Choices): string {
  const { db, jobs, clock, held, working } = world;
  const actors = [...working.keys()]
    .filter(({ process }) => !process.isDead)
    .map(({ name, seen }) => `${name} ${seen}`);
  const calls = held.all.map(
    ({ actor, number, room, operation }) => `${actor.name} ${actor.seen} ${number} ${room}.${operation}`,
  );
  const ids = new Set(jobs.all.map(({ id }) => id));
  const inHand = toText(held.all.map(({ args }) => args));
  const isKnown = (wake: string) => ids.has(wake) || inHand.includes(wake);
  const { conversations, ready, sweeps, sweptAt } = db;
  const stored = [conversations, sortEntries(ready), sortEntries(sweeps), sweptAt, jobs.all];
  const rest = toText([clock.now(), actors.toSorted(), calls.toSorted(), choices.state]);
  return createHash('md5').update(toEssence(stored, isKnown)).update(rest).digest('base64');
}
