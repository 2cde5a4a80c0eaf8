/** A text of a user, or of a system message within the log. */
export interface SaidText {
  readonly seq: number;
  readonly text: string;
}

/** Least characters of a repetition. Fewer characters, such as `Yes, please.`, may mean something else each time. */
const MIN_REPEATED_CHARS = 80;
const QUOTED = /^[\s>|]+/;

/**
 * Leaves out what an earlier text already said: lines, and paragraphs with other line ends, blanks or marks of a quoted
 * reply. A mark names the earlier messages, as in `(as in 3)`.
 */
export function foldRepeats(texts: readonly SaidText[]): SaidText[] {
  const known = new Map<string, number>();
  return texts.map(({ seq, text }) => {
    const run = new RepeatedRun();
    const said: string[] = [];
    for (const paragraph of text.split(/\n(?=[ \t]*\n)/)) {
      const lines = paragraph.split('\n');
      const repeated = known.get(`¶${normalize(paragraph)}`);
      for (const line of lines) {
        run.add(line, line.trim() === '' ? undefined : (repeated ?? known.get(normalize(line))));
        said.push(normalize(line));
      }
      said.push(`¶${normalize(paragraph)}`);
    }
    for (const one of said) if (!known.has(one)) known.set(one, seq);
    return { seq, text: run.end() };
  });
}

function normalize(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(QUOTED, ''))
    .join(' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Lines of a text. A run of repeated lines becomes a mark if the run is long enough. */
class RepeatedRun {
  readonly #kept: string[] = [];
  #lines: string[] = [];
  #seqs = new Set<number>();

  /** @param seq message that had the line before */
  add(line: string, seq: number | undefined): void {
    if (seq === undefined && line.trim() !== '') this.#close();
    if (seq !== undefined) this.#seqs.add(seq);
    this.#lines.push(line);
    if (this.#seqs.size === 0) this.#close();
  }

  end(): string {
    this.#close();
    return this.#kept.join('\n');
  }

  #close(): void {
    const chars = this.#lines.reduce((sum, line) => sum + line.length, 0);
    const isLong = this.#seqs.size > 0 && chars >= MIN_REPEATED_CHARS;
    const seqs = [...this.#seqs].toSorted((a, b) => a - b).join(', ');
    this.#kept.push(...(isLong ? [`(as in ${seqs})`] : this.#lines));
    this.#lines = [];
    this.#seqs = new Set();
  }
}
