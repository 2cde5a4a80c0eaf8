/** Steps of each loop: all but the last call a tool. */
export const STEPS = 60;
export const WINDOW = 8_000;

/** A result of about 600 tokens that repeats nothing. */
export function page(step: number): string {
  const rows = Array.from({ length: 30 }, (_, row) => {
    return { id: `INV-${step}-${row}`, customer: `customer ${step * 31 + row}`, cents: step * 1_000 + row * 7 };
  });
  return JSON.stringify(rows);
}

/** Keeps what a scripted model was asked. */
export class Requests {
  readonly #requests: string[] = [];

  /** @returns number of the request, from 1 */
  add(messages: readonly unknown[]): number {
    this.#requests.push(JSON.stringify(messages));
    return this.#requests.length;
  }

  /** Prints the answer and the requests as JSON, for the test of the examples. */
  report(answer: unknown, kept?: number): void {
    console.log(JSON.stringify({ answer, kept, requests: this.#requests.map((text) => JSON.parse(text) as unknown) }));
  }
}
