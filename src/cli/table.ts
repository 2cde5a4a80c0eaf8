import type { Output } from './output.ts';

const GAP = '  ';
/** Characters of a line, on a terminal or a page of the documentation. */
const TABLE_WIDTH = 100;
const LEAST_WIDTH = 12;

/** The widest column wraps between words. A word is never cut, because a person may copy it as an id. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const widths = fitWidths(
    (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))),
  );
  return rows.flatMap((row) => {
    const cells = row.map((cell, column) => wrap(cell, widths[column] ?? 0));
    const height = Math.max(...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) =>
      cells
        .map((lines, column) => (lines[line] ?? '').padEnd(widths[column] ?? 0))
        .join(GAP)
        .trimEnd(),
    );
  });
}

function fitWidths(widths: readonly number[]): number[] {
  const fitted = [...widths];
  const over = (): number => fitted.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - TABLE_WIDTH;
  for (let excess = over(); excess > 0; excess = over()) {
    const widest = fitted.indexOf(Math.max(...fitted));
    const width = fitted[widest] ?? 0;
    if (width <= LEAST_WIDTH) break;
    fitted[widest] = Math.max(LEAST_WIDTH, width - excess);
  }
  return fitted;
}

function wrap(cell: string, width: number): string[] {
  const [first = '', ...words] = cell.split(' ');
  const lines = [first];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function writeTable(output: Output, [heading = '', ...lines]: readonly string[]): void {
  output.line(heading, 'heading');
  for (const line of lines) output.line(line);
}

export function clipCell(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}

export function formatMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}
