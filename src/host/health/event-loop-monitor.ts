import type { EventLoop, LoopBlock } from '../../domain/event-loop.ts';
import { LoopBeat } from './loop-beat.ts';

const TICK_MS = 250;
const MEMORY_MS = 10_000;
/** Minimum ms of a block. Shorter delays do not count as blocks. */
const BLOCK_MS = 1_000;
/** ms for which a block is remembered: the longest default timeout of a call. */
const BLOCKS_MS = 600_000;
/** Minimum ms of a block that is reported. Longer than two heartbeats of a lease. */
const REPORTED_MS = 5_000;
const MOST_NAMES = 3;

/**
 * Measures how late timers fire, and names the tools that ran meanwhile. A blocked process cannot answer a health
 * probe, and after the block the process would look healthy. So the monitor remembers each delay for ten seconds, and
 * each block for ten minutes.
 *
 * The monitor has three readers. The readiness check asks for the worst delay. A call that timed out asks whether its
 * own process was the cause. The lease thread reads `beat` from another thread, while the main thread is blocked.
 */
export class EventLoopMonitor implements EventLoop {
  readonly beat = new LoopBeat();
  readonly #onBlock: (block: LoopBlock) => void;
  #lates: { readonly at: number; readonly lateMs: number }[] = [];
  #blocks: (LoopBlock & { readonly at: number })[] = [];
  readonly #running = new Map<string, number>();
  #expectedAt = performance.now() + TICK_MS;
  /** Time from which the code that runs now may have blocked the event loop. */
  #heldFrom = this.#expectedAt;
  readonly #timer: NodeJS.Timeout;

  constructor(onBlock: (block: LoopBlock) => void = () => undefined) {
    this.#onBlock = onBlock;
    this.beat.tick();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  get worstMs(): number {
    return Math.max(0, ...this.#lates.map(({ lateMs }) => lateMs));
  }

  async runTool<T>(name: string, call: () => Promise<T> | T): Promise<T> {
    this.#note();
    this.#running.set(name, (this.#running.get(name) ?? 0) + 1);
    this.beat.cause = `by the tool "${name}"`;
    try {
      const answer = call();
      this.#note();
      this.beat.cause = this.#describeRunning();
      return await answer;
    } finally {
      this.#note();
      const count = (this.#running.get(name) ?? 1) - 1;
      if (count === 0) this.#running.delete(name);
      else this.#running.set(name, count);
      this.beat.cause = this.#describeRunning();
    }
  }

  longestWithin(ms: number): LoopBlock | undefined {
    this.#note();
    const from = performance.now() - ms;
    const blocks = this.#blocks.filter(({ at }) => at >= from);
    return blocks.toSorted((a, b) => b.ms - a.ms)[0];
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    this.#note();
    const at = performance.now();
    this.beat.tick();
    this.#lates = this.#lates.filter((late) => late.at > at - MEMORY_MS);
    this.#lates.push({ at, lateMs: Math.max(0, at - this.#expectedAt) });
    this.#expectedAt = at + TICK_MS;
    this.#heldFrom = this.#expectedAt;
  }

  /** Attributes a delay to the code that ran until now. Called at each tick, and when the running tools change. */
  #note(): void {
    const at = performance.now();
    const ms = at - this.#heldFrom;
    this.#heldFrom = Math.max(this.#heldFrom, at);
    if (ms < BLOCK_MS) return;
    const block = { ms, cause: this.beat.cause };
    this.#blocks = [...this.#blocks.filter((kept) => kept.at > at - BLOCKS_MS), { ...block, at }];
    if (ms >= REPORTED_MS) this.#onBlock(block);
  }

  #describeRunning(): string {
    const names = [...this.#running.keys()];
    if (names.length === 0) return '';
    const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
    const listed = names.slice(0, MOST_NAMES).map((name) => `"${name}"`);
    return `while ${names.length === 1 ? 'the tool' : 'the tools'} ${listed.join(', ')}${more} ran`;
  }
}
