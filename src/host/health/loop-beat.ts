/** Limit for the text that names the cause of a block. Names of tools have at most 64 characters. */
const MAX_CAUSE_BYTES = 240;
/** Layout of the memory: an 8-byte time, the number of bytes of the cause, then the cause. */
const [TIME_BYTES, LENGTH_BYTES] = [8, 4];
const TOTAL_BYTES = TIME_BYTES + LENGTH_BYTES + MAX_CAUSE_BYTES;
const encoder = new TextEncoder();

/** Memory that the lease thread reads while the main thread is blocked. */
export class LoopBeat {
  readonly memory: SharedArrayBuffer;
  readonly #time: BigInt64Array;
  readonly #length: Int32Array;
  readonly #text: Uint8Array;

  constructor(memory = new SharedArrayBuffer(TOTAL_BYTES)) {
    this.memory = memory;
    this.#time = new BigInt64Array(memory, 0, 1);
    this.#length = new Int32Array(memory, TIME_BYTES, 1);
    this.#text = new Uint8Array(memory, TIME_BYTES + LENGTH_BYTES);
  }

  tick(): void {
    Atomics.store(this.#time, 0, process.hrtime.bigint());
  }

  /** ms since the last tick of the event loop. */
  get silentMs(): number {
    return Number(process.hrtime.bigint() - Atomics.load(this.#time, 0)) / 1_000_000;
  }

  /** Names the code that runs now, e.g. `by the tool "scan"`. A text that is too long is shortened. */
  get cause(): string {
    const length = Atomics.load(this.#length, 0);
    return new TextDecoder().decode(this.#text.slice(0, length));
  }

  set cause(text: string) {
    const { written } = encoder.encodeInto(text, this.#text);
    Atomics.store(this.#length, 0, written);
  }
}
