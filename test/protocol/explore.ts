import type { Random } from '../setup/random.ts';
import { type Choice, Choices, type Faults, type Ledger, NO_FAULTS } from './choices.ts';
import { settle } from './held-calls.ts';
import { watch } from './invariants.ts';
import { describeState } from './state.ts';
import { type SavedWorld, World } from './world.ts';

export interface Exploration {
  /** Opens the world of one run. Its clients have already begun. */
  readonly open: () => Promise<World>;
  readonly faults: Faults;
  /** Throws if the final state breaks a promise. Called once nothing is left to do. */
  readonly checkEnd: (world: World) => void;
  readonly maxSteps: number;
  readonly maxMs: number;
}

export interface Explored {
  readonly states: number;
  readonly steps: number;
  /** Number of different final states. */
  readonly ends: number;
  /** Steps of the longest path. */
  readonly longest: number;
  /** False if the search reached its bound first. */
  readonly isComplete: boolean;
}

/** A path of this length is taken for an endless loop of the workers. */
const MAX_STEPS = 400;

/** A world with the choices that are open in it. */
interface Position {
  readonly world: World;
  readonly choices: Choices;
  readonly list: readonly Choice[];
}

/** A state on the present path of the search. */
interface Node {
  /** The live world, until the first choice changes it. */
  position: Position | undefined;
  /** Copy to return to. Undefined for a state with a single choice. */
  readonly saved: { readonly world: SavedWorld; readonly ledger: Ledger } | undefined;
  /** Names of the choices that are still to be tried, the next one last. */
  readonly todo: string[];
}

/** An invariant is broken at the end of `path`. */
export class Counterexample extends Error {
  constructor(cause: unknown, path: readonly string[]) {
    super(`${cause instanceof Error ? cause.message : String(cause)}\n  ${path.join('\n  ')}`, { cause });
  }
}

/**
 * Tries every choice in every state, depth first. A state that was met before is not entered again (`describeState` defines
 * equality). The workers are real code and cannot be copied in mid-flight. So the search returns to a state by starting its
 * actors again and replaying the replies that each actor received (`World.restore`).
 */
export async function explore(exploration: Exploration): Promise<Explored> {
  return await new Search(exploration).run();
}

class Search {
  readonly #exploration: Exploration;
  readonly #known = new Set<string>();
  readonly #stack: Node[] = [];
  readonly #path: string[] = [];
  readonly #ends = new Set<string>();
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
      await this.#visit(world, Choices.begin(world, faults));
      for (let node = this.#backtrack(); node !== undefined; node = this.#backtrack()) {
        if (this.#steps >= maxSteps || performance.now() - startedAt > maxMs) return this.#report(false);
        await this.#step(node);
      }
    } catch (error) {
      throw new Counterexample(error, this.#path);
    }
    return this.#report(true);
  }

  /** Returns to the last state with an untried choice. */
  #backtrack(): Node | undefined {
    while (this.#stack.at(-1)?.todo.length === 0) this.#stack.pop();
    this.#path.length = Math.max(0, this.#stack.length - 1);
    return this.#stack.at(-1);
  }

  async #step(node: Node): Promise<void> {
    const name = node.todo.pop() ?? '';
    const { world, choices, list } = node.position ?? (await restore(node));
    node.position = undefined;
    const choice = list.find((one) => one.name === name);
    if (choice === undefined) throw new Error(`the restored world lacks the choice ${name}`);
    this.#path.push(name);
    this.#steps += 1;
    await choice.happen();
    await this.#visit(world, choices);
  }

  async #visit(world: World, choices: Choices): Promise<void> {
    await playLocal(world, choices);
    this.#longest = Math.max(this.#longest, this.#path.length);
    if (this.#path.length > MAX_STEPS) throw new Error(`the workers are still busy after ${MAX_STEPS} steps`);
    const list = choices.list();
    const state = describeState(world, choices);
    if (list.length === 0) {
      this.#exploration.checkEnd(world);
      this.#ends.add(state);
    }
    const isKnown = this.#known.has(state);
    this.#known.add(state);
    if (isKnown || list.length === 0) return;
    const saved = list.length === 1 ? undefined : { world: world.save(), ledger: choices.save() };
    const todo = list.map(({ name }) => name).toReversed();
    this.#stack.push({ position: { world, choices, list }, saved, todo });
  }

  #report(isComplete: boolean): Explored {
    const [steps, longest] = [this.#steps, this.#longest];
    return { states: this.#known.size, steps, ends: this.#ends.size, longest, isComplete };
  }
}

async function restore({ saved }: Node): Promise<Position> {
  if (saved === undefined) throw new Error('a state with one choice was entered twice');
  const world = await World.restore(saved.world);
  const choices = new Choices(world, saved.ledger);
  return { world, choices, list: choices.list() };
}

/** Plays random paths, for scenarios that are too large to explore. @returns number of paths */
export async function walk(
  { open, faults, checkEnd, maxMs }: Exploration,
  { paths: most, random }: { readonly paths: number; readonly random: Random },
): Promise<number> {
  const startedAt = performance.now();
  let paths = 0;
  for (; paths < most && performance.now() - startedAt < maxMs; paths += 1) {
    const world = await open();
    const choices = Choices.begin(world, faults);
    const path: string[] = [];
    try {
      for (;;) {
        await playLocal(world, choices);
        const list = choices.list();
        if (list.length === 0) break;
        const choice = random.pick(list);
        path.push(choice.name);
        if (path.length > MAX_STEPS) throw new Error(`the workers are still busy after ${MAX_STEPS} steps`);
        await choice.happen();
      }
      checkEnd(world);
    } catch (error) {
      throw new Counterexample(error, path);
    }
  }
  return paths;
}

/** Takes the first choice of every state until only waiting is left. */
export async function playOut(world: World): Promise<void> {
  const choices = Choices.begin(world, NO_FAULTS);
  for (;;) {
    await playLocal(world, choices);
    const [choice] = choices.list();
    if (choice === undefined || choice.isWait) return;
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
