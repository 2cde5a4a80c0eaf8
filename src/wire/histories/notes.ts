import { fieldError } from '../../domain/errors.ts';

/** A value that a reader changed in a history, or left out. */
export interface HistoryNote {
  /** Path of the value in the given history, e.g. `messages[3].tool_calls[0].id`. */
  readonly at: string;
  /** `mapped`: kept in another form. `repaired`: was not valid, and is now. `left_out`: not kept. */
  readonly kind: 'mapped' | 'repaired' | 'left_out';
  /** The change as a sentence, without contents of the history. */
  readonly what: string;
  /** Number of places with the same note, the first of which is `at`. Absent: one place. */
  readonly count?: number;
}

const MOST_NOTES = 1_000;

export class HistoryNotes {
  readonly #notes = new Map<string, HistoryNote>();
  readonly #isStrict: boolean;

  constructor({ isStrict = false }: { readonly isStrict?: boolean } = {}) {
    this.#isStrict = isStrict;
  }

  /** Equal notes are joined: a history of 500,000 messages may need the same note for each message. */
  get list(): readonly HistoryNote[] {
    return [...this.#notes.values()];
  }

  /** @throws invalid_input with the path, if a strict reader would have to repair the history */
  add(kind: HistoryNote['kind'], at: string, what: string, count = 1): void {
    if (this.#isStrict && kind === 'repaired') {
      throw fieldError(
        'invalid_input',
        at,
        `refused, because \`strict\` is set: ${what}. Without \`strict\`, turnfold repairs the history`,
      );
    }
    const key = `${kind} ${what}`;
    const known = this.#notes.get(key);
    if (known !== undefined) this.#notes.set(key, { ...known, count: (known.count ?? 1) + count });
    else if (this.#notes.size < MOST_NOTES) this.#notes.set(key, { at, kind, what, ...(count > 1 && { count }) });
  }
}
