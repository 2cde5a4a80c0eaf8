import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { countShownLines, findAlikeLines, formOfLine } from '../../../src/compaction/evidence/alike-lines.ts';
import { readLedger } from '../../../src/compaction/evidence/ledger.ts';
import { excerptMessage } from '../../../src/compaction/excerpt.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import type { Message } from '../../../src/domain/message.ts';

const result = (content: string): Message => ({ role: 'tool', content, toolCallId: 'c' });
const DEBUG = Array.from({ length: 36 }, (_, at) => `2026-05-17 10:12:${10 + at} DEBUG worker ${at} polls the queue`);

/** Lists sizes of groups of alike lines, and whether the lines are equal. */
function groupsOf(...messages: readonly Message[]): [number, boolean][] {
  const { fragments } = runToEnd(readLedger(messages));
  const groups = new Map([...runToEnd(findAlikeLines(fragments)).values()].map((group) => [group.last, group]));
  return [...groups.values()].map(({ size, areEqual }) => [size, areEqual]);
}

describe('alike lines', () => {
  test.each([
    ['times and numbers', 'at 10:12:13 the job 17 of the shop began', 'at 10:12:59 the job 4711 of the shop began'],
    ['ids', 'request 3f9a2c77 was sent to the shop', 'request 00ab12cd was sent to the shop'],
    ['progress bars', 'Fetching 10% [==>      ] of files', 'Fetching 90% [========>] of files'],
  ])('lines that differ only in %s have one form', (_what, one, other) => {
    expect(formOfLine(one)).toBe(formOfLine(other));
    expect(formOfLine(one)).toBeDefined();
  });

  test.each([
    ['another word', 'the job 17 of the shop began', 'the job 17 of the shop ended'],
    ['a name', 'test/alpha-1.test.ts has passed', 'test/beta-1.test.ts has passed'],
  ])('lines that differ in %s have different forms', (_what, one, other) => {
    expect(formOfLine(one)).not.toBe(formOfLine(other));
  });

  test('the sentences of a paragraph are not alike lines, as a count would stand inside of the paragraph', () => {
    expect(groupsOf(result('The job 17 of the shop is done. '.repeat(20)))).toEqual([]);
  });

  test.each(['status: paid', '17', '40.49,S,red', '}'])('a short line may describe several things: %s', (line) => {
    expect(formOfLine(line)).toBeUndefined();
  });

  test('alike lines of a message form a group, but not lines of users and fields of JSON', () => {
    expect(groupsOf(result(DEBUG.join('\n')))).toEqual([[36, false]]);
    expect(groupsOf(result(Array(9).fill(DEBUG[0]).join('\n')))).toEqual([[9, true]]);
    expect(groupsOf({ role: 'user', content: DEBUG.join('\n') })).toEqual([]);
    expect(groupsOf(result(JSON.stringify(DEBUG)))).toEqual([]);
    expect(groupsOf(...DEBUG.map(result))).toEqual([]);
  });
});

test('an excerpt that shows one of several alike lines says how many the message has', () => {
  const text = `begin\n${DEBUG.join('\n')}\nend`;
  const start = text.indexOf(DEBUG[35] as string);
  const { content } = excerptMessage(result(text), [[start, start + (DEBUG[35] as string).length]], 7);
  expect(content).toContain(`… ${DEBUG[35]} (×36 alike)`);
});

test('a count behind a shown line is the number of such lines in the text, and no line is invented', () => {
  const anyLine = fc.constantFrom(...DEBUG.slice(0, 4), 'all jobs of the shop are done', 'status: paid', '', '}');
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 30 }), fc.infiniteStream(fc.boolean()), (lines, keeps) => {
      const shown = lines.filter(() => keeps.next().value);
      const said = countShownLines(shown, lines.join('\n'));
      expect(said.map((line) => line.replace(/ \(×.*$/, ''))).toEqual(shown);
      for (const line of said) {
        const [, count, alike] = / \(×(\d+)( alike)?\)$/.exec(line) ?? [];
        if (count === undefined) continue;
        const bare = line.replace(/ \(×.*$/, '');
        const same = lines.filter(
          (one) => one === bare || (alike !== undefined && formOfLine(one) === formOfLine(bare)),
        );
        expect(Number(count)).toBe(same.length);
      }
    }),
  );
});
