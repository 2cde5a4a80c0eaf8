import type { Clock, IdSource } from './clock.ts';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const PAIRS = Array.from({ length: 1_024 }, (_, value) => `${DIGITS[value >> 5]}${DIGITS[value & 31]}`);
/** The 80 random bits are two halves of eight digits each. */
const HALF = 2 ** 40;
const HALF_BYTES = 5;
const DRAWN_BYTES = 4_000;

/**
 * Ids ascend within the process. In the same millisecond, or after the clock went back, an id is the previous plus one.
 */
export class UlidSource implements IdSource {
  readonly #clock: Clock;
  readonly #drawBytes: (bytes: Uint8Array) => unknown;
  readonly #bytes = new Uint8Array(DRAWN_BYTES);
  #used = DRAWN_BYTES;
  #timeMs = -1;
  #high = 0;
  #low = 0;
  /** First 18 digits of an id: the time and a random half. Most ids share these digits with the id before. */
  #start = '';

  /** @param drawBytes fills an array with cryptographically random bytes */
  constructor(clock: Clock, drawBytes: (bytes: Uint8Array) => unknown) {
    this.#clock = clock;
    this.#drawBytes = drawBytes;
  }

  next(): string {
    const nowMs = this.#clock.now();
    if (nowMs > this.#timeMs) this.#begin(nowMs, this.#drawHalf(), this.#drawHalf());
    else if (this.#low + 1 < HALF) this.#low += 1;
    else if (this.#high + 1 < HALF) this.#begin(this.#timeMs, this.#high + 1, 0);
    else this.#begin(this.#timeMs + 1, this.#drawHalf(), this.#drawHalf());
    return this.#start + writeHalf(this.#low);
  }

  #begin(timeMs: number, high: number, low: number): void {
    this.#timeMs = timeMs;
    this.#high = high;
    this.#low = low;
    // Ten digits of time: eight hold 40 bits, the first two the rest.
    this.#start = `${writePair(Math.floor(timeMs / HALF))}${writeHalf(timeMs % HALF)}${writeHalf(high)}`;
  }

  #drawHalf(): number {
    if (this.#used === DRAWN_BYTES) {
      this.#drawBytes(this.#bytes);
      this.#used = 0;
    }
    let half = 0;
    for (const end = this.#used + HALF_BYTES; this.#used < end; this.#used += 1)
      half = half * 256 + (this.#bytes[this.#used] ?? 0);
    return half;
  }
}

function writeHalf(value: number): string {
  const high = Math.floor(value / 2 ** 20);
  const low = value % 2 ** 20;
  return writePair(high >> 10) + writePair(high & 1_023) + writePair(low >> 10) + writePair(low & 1_023);
}

function writePair(value: number): string {
  return PAIRS[value] ?? '';
}
