import { signal } from '@preact/signals';
import type { OutlineAnswer, OutlineEntryAnswer } from '../../../src/api/contract/inspection.ts';
import { isTurnfoldError, type Path, readRoute, type TurnfoldError } from '../shell/client.ts';

export type OutlineEntry = OutlineEntryAnswer;

/** Messages in one request. A screen shows about 30 messages. */
const PAGE = 200;

interface Page {
  readonly entries: readonly OutlineEntry[];
  readonly head: number;
}

export class OutlinePages {
  readonly revision = signal(0);
  readonly error = signal<TurnfoldError | undefined>(undefined);
  readonly #path: Path;
  readonly #version: number | undefined;
  readonly #pages = new Map<number, Page>();
  readonly #inFlight = new Map<number, AbortController>();
  #head = 0;

  constructor(conversation: string, version: number | undefined) {
    this.#path = ['conversations', conversation, 'outline'];
    this.#version = version;
  }

  entryAt(seq: number): OutlineEntry | undefined {
    const number = pageOf(seq);
    return this.#pages.get(number)?.entries[seq - 1 - number * PAGE];
  }

  grow(head: number): void {
    this.#head = head;
  }

  /**
   * Requests the missing pages of a range, and cancels requests for other pages. A last page that has grown since is
   * requested again.
   */
  need(from: number, to: number): void {
    if (to < from || from < 1) return;
    const [first, last] = [pageOf(Math.max(1, from)), pageOf(Math.max(1, Math.min(to, this.#head)))];
    for (const [number, leaving] of this.#inFlight) {
      if (number >= first && number <= last) continue;
      leaving.abort();
      this.#inFlight.delete(number);
    }
    for (let number = first; number <= last; number += 1) {
      if (!this.#inFlight.has(number) && !this.#isWhole(number)) void this.#read(number);
    }
  }

  close(): void {
    for (const leaving of this.#inFlight.values()) leaving.abort();
  }

  #isWhole(number: number): boolean {
    const page = this.#pages.get(number);
    return page !== undefined && (page.entries.length === PAGE || page.head >= this.#head);
  }

  async #read(number: number): Promise<void> {
    const leaving = new AbortController();
    const { signal: left } = leaving;
    this.#inFlight.set(number, leaving);
    try {
      const query = { after: number * PAGE, limit: PAGE, version: this.#version };
      const { entries, head } = await readRoute<OutlineAnswer>(this.#path, query, left);
      this.#pages.set(number, { entries, head });
      if (this.#inFlight.get(number) === leaving) this.#inFlight.delete(number);
      this.error.value = undefined;
      this.revision.value += 1;
    } catch (error) {
      if (left.aborted) return;
      this.#inFlight.delete(number);
      if (isTurnfoldError(error)) this.error.value = error;
    }
  }
}

function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE);
}
