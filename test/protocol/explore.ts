import { type Choice, Choices, type Faults, type Ledger, NO_FAULTS } from './choices.ts';
import { doCommute, movesTime } from './commuting.ts';
import { settle } from './held-calls.ts';
import { watch } from './invariants.ts';
import { describeState, describeStored, type State } from './state.ts';
import { findSufficient } from './sufficient.ts';
import { type SavedWorld, World } from './world.ts';

export interface Exploration {
  /** the world as it begins, its clients under way */
  readonly open: () => Promise<World>;
  readonly faults: Faults;
  /** what holds once nothing is left to do; throws where it does not */
  readonly checkEnd: (world: World) => void;
  readonly maxSteps: number;
  readonly maxMs: number;
  /** turns may leave an entry that is due as soon as it is written: as one does that waits for a pass which has just ended */
  readonly mayBeDueAtOnce?: boolean;
  /** goes into every choice of every state: to compare with */
  readonly isUnreduced?: boolean;
  /** notes what the stores hold in each state */
  readonly notesStored?: boolean;
}

export interface Explored {
  readonly states: number;
  /** choices that were made */
  readonly steps: number;
  /** what the stores and queues hold in the states in which nothing is left to do */
  readonly ends: ReadonlySet<string>;
  readonly longest: number;
  readonly isComplete: boolean;
  /** what the stores hold in any of the states, if it is noted */
  readonly stored: ReadonlySet<string>;
}

/** A run this long does not come to an end. */
const MAX_STEPS = 400;

/** A state on the way to where the search is. */
interface Node {
  /** as it was met, until the first choice is gone into */
  met: Met | undefined;
  /** to come back to it; undefined where there is one choice only */
  readonly saved: { readonly world: SavedWorld; readonly ledger: Ledger } | undefined;
  /** names of choices to go into, the next one last */
  readonly todo: string[];
  /** names of choices that need not be gone into from here: what they lead to was found elsewhere */
  readonly asleep: Set<string>;
}

/** A state with the choices in it, in the names of the way there. */
interface Met {
  readonly world: World;
  readonly choices: Choices;
  readonly list: readonly Choice[];
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
 * Takes every choice at every state, depth first, but for those that can lead to nothing new:
 * - A state that was met before is not gone into again (`describeState` says what one is).
 * - Of two choices that commute the second is not tried behind the first where the first was tried behind the second: sleep
 *   sets (Godefroid), with the sleeping choices of a state kept beside it, and those woken that sleep no more at the next visit. They
 *   spare steps and not one state.
 * - Where some choices do (`findSufficient`) no others are gone into. This spares states of the queue, and none of the stores.
 * The workers are real code, which cannot be copied in mid-flight: a state is come back to by telling its actors again all that they
 * were told (`World.restore`).
 */
export async function explore(exploration: Exploration): Promise<Explored> {
  return await new Search(exploration).run();
}

class Search {
  readonly #exploration: Exploration;
  /** state → choices asleep there, in names that fit all its visits; as one text, for there are millions of them */
  readonly #known = new Map<string, string>();
  readonly #stack: Node[] = [];
  readonly #path: string[] = [];
  readonly #ends = new Set<string>();
  readonly #stored = new Set<string>();
  #steps = 0;
  #longest = 0;

  constructor(exploration: Exploration) {
    this.#exploration = exploration;
  }

  async run(): Promise<Explored> {
    const { open, faults, maxSteps, maxMs } = this.#exploration;
    const startedAt = performance.now();
    try {
      const world = await open();
      await this.#visit(world, Choices.begin(world, faults), new Set());
      for (let node = this.#next(); node !== undefined; node = this.#next()) {
        if (this.#steps >= maxSteps || performance.now() - startedAt > maxMs) return this.#report(false);
        await this.#step(node);
      }
    } catch (error) {
      throw new Counterexample(error, this.#path);
    }
    return this.#report(true);
  }

  /** Back to the last state from which there is something to do. */
  #next(): Node | undefined {
    while (this.#stack.at(-1)?.todo.length === 0) this.#stack.pop();
    this.#path.length = Math.max(0, this.#stack.length - 1);
    return this.#stack.at(-1);
  }

  async #step(node: Node): Promise<void> {
    const { todo, asleep } = node;
    const name = todo.pop() ?? '';
    const met = node.met ?? (await comeBack(node));
    node.met = undefined;
    const { world, choices, list } = met;
    const choice = list.find((one) => one.name === name);
    if (choice === undefined) throw new Error(`no ${name} where it was before`);
    const stillAsleep = await this.#keepAsleep(met, choice, asleep);
    asleep.add(name);
    this.#path.push(name);
    this.#steps += 1;
    await choice.happen();
    await this.#visit(world, choices, stillAsleep);
  }

  async #keepAsleep({ world, list }: Met, choice: Choice, asleep: ReadonlySet<string>): Promise<Set<string>> {
    const still = new Set<string>();
    if (this.#exploration.isUnreduced) return still;
    for (const other of list) {
      if (asleep.has(other.name) && (await doCommute(world, other, choice))) still.add(other.name);
    }
    return still;
  }

  async #visit(world: World, choices: Choices, asleep: Set<string>): Promise<void> {
    await playLocal(world, choices);
    this.#longest = Math.max(this.#longest, this.#path.length);
    if (this.#path.length > MAX_STEPS) throw new Error(`still at work after ${MAX_STEPS} steps`);
    const list = choices.list();
    if (this.#exploration.notesStored) this.#stored.add(describeStored(world));
    const state = describeState(world, choices);
    if (list.length === 0) {
      this.#exploration.checkEnd(world);
      this.#ends.add(state.key);
    }
    const met = { world, choices, list };
    const todo = this.#choose(met, state, asleep).toReversed();
    if (todo.length === 0) return;
    const saved = todo.length === 1 ? undefined : { world: world.save(), ledger: choices.save() };
    this.#stack.push({ met, saved, todo, asleep });
  }

  #choose({ world, choices, list }: Met, { key, rename }: State, asleep: Set<string>): string[] {
    const { isUnreduced = false, mayBeDueAtOnce = true } = this.#exploration;
    const names = list.map(({ name }) => name);
    const known = this.#known.get(key);
    if (known === undefined) {
      this.#known.set(key, [...asleep].map(rename).join('\n'));
      const some = isUnreduced ? undefined : findSufficient(world, choices, { list, mayBeDueAtOnce });
      return (some?.map(({ name }) => name) ?? names).filter((name) => !asleep.has(name));
    }
    if (known === '') return [];
    const sleptBefore = new Set(known.split('\n'));
    const woken = names.filter((name) => !asleep.has(name) && sleptBefore.has(rename(name)));
    for (const name of asleep) if (!sleptBefore.has(rename(name))) asleep.delete(name);
    this.#known.set(key, [...asleep].map(rename).join('\n'));
    return woken;
  }

  #report(isComplete: boolean): Explored {
    const [steps, longest] = [this.#steps, this.#longest];
    return { states: this.#known.size, steps, ends: this.#ends, longest, isComplete, stored: this.#stored };
  }
}

async function comeBack({ saved }: Node): Promise<Met> {
  if (saved === undefined) throw new Error('a state with one choice was come back to');
  const world = await World.restore(saved.world);
  const choices = new Choices(world, saved.ledger);
  return { world, choices, list: choices.list() };
}

/** Plays paths by chance, for what is too large to be explored whole. @returns steps taken */
export async function walk(
  { open, faults, checkEnd, maxMs }: Exploration,
  { paths: most, random }: { readonly paths: number; readonly random: () => number },
): Promise<{ readonly paths: number; readonly steps: number }> {
  const startedAt = performance.now();
  let [paths, steps] = [0, 0];
  for (; paths < most && performance.now() - startedAt < maxMs; paths += 1) {
    const world = await open();
    const choices = Choices.begin(world, faults);
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

/** What is first in the list, until there is nothing left to do but to wait. */
export async function playOut(world: World): Promise<void> {
  const choices = Choices.begin(world, NO_FAULTS);
  for (;;) {
    await playLocal(world, choices);
    const [choice] = choices.list();
    if (choice === undefined || movesTime(choice)) return;
    await choice.happen();
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
