import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Output, openOutput } from '../../src/cli/output.ts';
import { formatTable } from '../../src/cli/table.ts';

describe('a table', () => {
  it('a table of a command keeps each row on one line if the row fits the width', () => {
    expect(
      formatTable([
        ['name', 'state'],
        ['a', 'idle'],
      ]),
    ).toEqual(['name  state', 'a     idle']);
  });

  it('a table of a command wraps its widest column between words if the table is wider than 100 columns', () => {
    const reasons = Array.from({ length: 12 }, (_, at) => `reason_${at},`).join(' ');
    const lines = formatTable([
      ['version', 'reasons', 'notes'],
      ['1', reasons, 'floor_relaxed'],
    ]);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
    expect(lines[0]).toMatch(/^version {2}reasons +notes$/);
    expect(lines.join(' ').split(/ +/)).toEqual(expect.arrayContaining(reasons.split(' ')));
  });

  it('a table of a command never cuts a word, and stays within 100 columns if its words allow it', () => {
    const cell = fc.array(fc.stringMatching(/^[a-z_]{1,12}$/), { maxLength: 20 }).map((words) => words.join(' '));
    const table = fc.array(fc.tuple(cell, cell, cell, cell), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(table, (rows) => {
        const lines = formatTable(rows);
        const words = (texts: readonly string[]): string[] =>
          texts
            .flatMap((text) => text.split(/ +/))
            .filter(Boolean)
            .toSorted();
        expect(words(lines)).toEqual(words(rows.flat()));
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
      }),
    );
  });
});

describe('colours', () => {
  const openTest = (hasColors: boolean | undefined): { output: Output; read: () => string } => {
    let written = '';
    const stream = {
      write: (text: string | Uint8Array) => {
        written += String(text);
        return true;
      },
      ...(hasColors !== undefined && { hasColors: () => hasColors }),
    };
    return { output: openOutput(stream, stream), read: () => written };
  };

  it('colours are printed on a terminal that supports colours, around escaped text', () => {
    const { output, read } = openTest(true);
    output.line('bad \u001B[2J', 'wrong');
    expect(read()).toBe('\u001B[31mbad \\u001b[2J\u001B[39m\n');
  });

  it.each([[false], [undefined]])(
    'colours are not printed with NO_COLOR or into a pipe (hasColors %s)',
    (hasColors) => {
      const { output, read } = openTest(hasColors);
      output.line('bad', 'wrong');
      output.note('heading', 'heading');
      expect(read()).toBe('bad\nheading\n');
    },
  );
});
