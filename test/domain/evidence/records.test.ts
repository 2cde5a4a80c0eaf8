import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseExcerpts } from '../../../src/compaction/choose-excerpts.ts';
import { contextOfLog } from '../../../src/compaction/context.ts';
import { readEvidence } from '../../../src/compaction/context-evidence.ts';
import { decodeString } from '../../../src/compaction/evidence/decoded-string.ts';
import { readRecords } from '../../../src/compaction/evidence/read-records.ts';
import { GAP, writeLines } from '../../../src/compaction/evidence/record-lines.ts';
import type { TextRecord } from '../../../src/compaction/evidence/records.ts';
import { runToEnd } from '../../../src/domain/interruptible.ts';
import { buildLog, type Message } from '../../../src/domain/message.ts';
import { START_VERSION } from '../../../src/domain/version.ts';
import { anyRecords, FORMS, isTrue, readStatements } from '../../models/structural/stated-fields.ts';
import { weighText } from '../passes.ts';

const recordsOf = (text: string, isMarked = false): TextRecord[] => [
  ...readRecords({ part: 'result', text, isMarked }),
];
const textsOf = (text: string, isMarked = false): string[] => recordsOf(text, isMarked).map((record) => record.text);

/** Texts of the owners of each record, by its text. */
function ownersOf(text: string): Map<string, string[]> {
  return new Map(
    recordsOf(text).map(({ text: line, owner }) => {
      const owners: string[] = [];
      for (let at = owner; at !== undefined; at = at.owner) owners.push(at.text);
      return [line, owners];
    }),
  );
}

test.each(['\t', '→', ':'])('numbers of blank lines with %j behind the number are no records', (mark) => {
  const lines = ['import a', '', 'run(a)', ''].map((line, at) => `${String(at + 7).padStart(6)}${mark}${line}`);
  expect(textsOf(lines.join('\n')).map((text) => text.trim())).toEqual([`7${mark}import a`, `9${mark}run(a)`]);
  expect(textsOf('42')).toEqual(['42']);
});

/** Texts of JSON, prose, tables and anything else, whole and cut. */
const anyText = fc.oneof(
  fc.string({ maxLength: 400 }),
  fc.json({ maxDepth: 4 }),
  fc.json({ maxDepth: 3 }).map((json) => JSON.stringify({ text: json, list: [json, 'a "quoted" word\n'] })),
  fc.tuple(anyRecords, fc.constantFrom(...FORMS)).map(([records, { write }]) => write(records)),
  fc
    .tuple(anyRecords, fc.constantFrom(...FORMS), fc.nat(2_000))
    .map(([records, { write }, at]) => write(records).slice(at)),
  fc
    .array(fc.constantFrom('user: Hi', 'agent: there', '→ run make', '← ok', '  more', 'rest'), { maxLength: 12 })
    .map((lines) => lines.join('\n')),
);

test('each record of a text lies inside the text, and its owner is another record of the same text', () => {
  fc.assert(
    fc.property(anyText, fc.boolean(), (text, isMarked) => {
      const records = recordsOf(text, isMarked);
      expect(records.map(({ index }) => index)).toEqual(records.map((_, index) => index));
      for (const { start, end, owner } of records) {
        expect(start).toBeLessThan(end);
        expect(end).toBeLessThanOrEqual(text.length);
        if (owner !== undefined) expect(records[owner.index]).toBe(owner);
      }
    }),
  );
});

/** Forms whose identities come first. In others, an identity is shown before what stands above it. */
const ORDERED = FORMS.filter(({ name }) => name !== 'nested JSON');

test('writeLines shows a gap mark wherever records are left out, and none if all records of a text are shown', () => {
  fc.assert(
    fc.property(
      anyRecords,
      fc.constantFrom(...ORDERED),
      fc.infiniteStream(fc.boolean()),
      (sources, { write }, keeps) => {
        const records = recordsOf(write(sources));
        expect(writeLines(records).some(({ isApart, text }) => isApart || text.includes(GAP))).toBe(false);
        const kept = records.filter(() => keeps.next().value);
        const said = writeLines(kept).map(({ text, isApart }) => (isApart ? `${GAP} ${text}` : text));
        const inner = kept.some(({ index }, at) => at > 0 && index !== (kept[at - 1]?.index ?? 0) + 1);
        expect(said.join('\n').includes(GAP) || !inner).toBe(true);
      },
    ),
  );
});

describe.each(FORMS)('an excerpt of records written as $name', ({ write }) => {
  test('an excerpt never connects a value with a record that does not have this value in the source', () => {
    fc.assert(
      fc.property(anyRecords, fc.integer({ min: 40, max: 900 }), (records, maxTokens) => {
        const messages: Message[] = [
          { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'list', arguments: '{}' }] },
          { role: 'tool', content: write(records), toolCallId: 'c1' },
          { role: 'assistant', content: 'I have the list.' },
        ];
        const log = buildLog(messages.map((message) => ({ message, ...weighText(message) })));
        const { items } = contextOfLog(log, START_VERSION);
        const large = new Set(items.filter(({ message }) => message.role === 'tool'));
        const evidence = runToEnd(readEvidence(items));
        const made = runToEnd(chooseExcerpts({ items, large, maxTokens, evidence, weigh: weighText }));
        for (const { message } of made.values()) {
          expect(readStatements(message.content).filter((one) => !isTrue(one, records))).toEqual([]);
        }
      }),
      { numRuns: 20 },
    );
  });
});

test('an unmarked line of a summary belongs to the nearest marked line above', () => {
  const records = recordsOf('user: Hi\nagent: there\n→ run make\n  with force\n← ok\nrest', true);
  expect(records.map(({ text, owner }) => [text.trim(), owner?.text])).toEqual([
    ['user: Hi', undefined],
    ['agent: there', undefined],
    ['→ run make', undefined],
    ['with force', '→ run make'],
    ['← ok', '→ run make'],
    ['rest', '← ok'],
  ]);
});

test('the records of a JSON text are shown without escape sequences', () => {
  const text = JSON.stringify({
    id: 'a-1',
    note: 'first\nsecond "third"',
    inner: { of: [1, 2, { deep: 'x'.repeat(300) }] },
  });
  expect(textsOf(text).join('\n')).toContain('first');
  expect(textsOf(text).join('\n')).not.toContain('\\n');
});

test.each([
  [
    '[{"id": "a-1", "note": "two  words"}, {\n  "id": "a-2",\n  "tags": ["x y", 3]\n}]',
    '{"id":"a-1","note":"two  words"}',
  ],
  ["[{'id': 'a-1', 'name': \"it's\"}]", `[{'id':'a-1','name':"it's"}]`],
  ['[{"id": "a-1", "note": "cut  of', '[{"id":"a-1","note":"cut  of'],
])('white space of JSON stays inside strings and disappears between values: %s', (text, shown) => {
  expect(textsOf(text)[0]).toBe(shown);
});

test.each([
  ['a\\nb', 'a\nb'],
  ['a\\u0041b', 'aAb'],
  ['a\\u00', 'au00'],
  ['tab\\tend', 'tab\tend'],
  ['\\q', 'q'],
  ['end\\', 'end\\'],
])('decodeString reads the JSON string %j as %j', (given, text) => {
  const decoded = decodeString(given, 0, given.length);
  expect(decoded.text).toBe(text);
  expect(decoded.places.at(-1)).toBe(given.length);
});

test.each([
  ['{"a": 1,,}', 'fails'],
  ["{'a': None, 'b': [True, False,],}", 'reads Python'],
  ['{"a": {"b": "cut', 'is cut'],
  ['{"a" 1}', 'has no colon'],
  ['[1, 2', 'is cut'],
  ['{1: 2}', 'has no key'],
])('a text that starts like JSON and %s is still split into records: %s', (text) => {
  expect(textsOf(text).length).toBeGreaterThan(0);
});

test.each([
  [
    'named by a line behind the first one',
    ['From alice', 'ref: A-1', 'total: 5', 'From bob', 'ref: A-2', 'total: 6', 'From carol', 'ref: A-3', 'total: 7'],
    ['total: 7', ['From carol', 'ref: A-3']],
  ],
  [
    'with equal first lines',
    ['BEGIN', 'ref: A-1', 'total: 5', 'END', 'BEGIN', 'ref: A-2', 'total: 6', 'END', 'BEGIN', 'ref: A-3', 'total: 7'],
    ['total: 7', ['ref: A-3']],
  ],
  [
    'that end with lines of another kind',
    ['Order 11', 'total: 5', 'Order 12', 'total: 6', 'Order 13', 'total: 7', 'That is all.'],
    ['total: 7', ['Order 13']],
  ],
] as const)(
  'in a text of repeated records %s, the lines that name a record own its other lines',
  (_name, lines, [line, owners]) => {
    const found = ownersOf(lines.join('\n')).get(line) ?? [];
    for (const owner of owners) expect(found).toContain(owner);
  },
);

test.each([
  ['code', 'const a1 = 1;\nconst b2 = 2;\nconst c3 = {\n};\nconst d4 = 4;'],
  ['lines of one word', 'alpha1\nbeta2\ngamma3'],
  ['first lines alone', 'Order 1\nOrder 2\nOrder 3\nOrder 4'],
  ['one record', 'Order 1\ntotal: 5'],
])('a text of %s is not taken for a series of repeated records', (_name, text) => {
  for (const owners of ownersOf(text).values()) expect(owners.length).toBeLessThan(2);
});

test('a long line of markup is split at its elements', () => {
  const text = `<list>${Array.from({ length: 20 }, (_, at) => `<id>A-${at}</id><total>${at}</total>`).join('')}</list>`;
  expect(textsOf(text).length).toBeGreaterThan(10);
});

test('a long sentence that lists several subjects is split into one record per subject', () => {
  const said = Array.from({ length: 8 }, (_, at) => `Order A-${at} is paid by the clerk of the shop`).join(', and ');
  expect(textsOf(`${said}.`).length).toBeGreaterThan(1);
});

test('an unmarked line of a summary belongs to the first line after the repeated start of its record', () => {
  const text = '← BEGIN:ORDER\n  UID:A-1\n  total:5\nBEGIN:ORDER\n  UID:A-2\n  total:6';
  const [last] = recordsOf(text, true).slice(-1);
  expect(last?.owner?.text.trim()).toBe('UID:A-2');
});

test.each([
  ['Please do none of this:\n\ndelete order_17\ndelete order_18\n\nThanks a lot.', 'delete order_18'],
  ['Never do any of these:\n- delete order_17\n- delete order_18\n\nThanks a lot.', '- delete order_18'],
])('listed lines belong to the words before the colon that announces them: %s', (text, line) => {
  const owners = ownersOf(text);
  expect(owners.get(line)?.[0]).toMatch(/^(?:Please do none|Never do any)/);
  expect(owners.get('Thanks a lot.')).toEqual([]);
});

test('a line that ends with JSON is split into its words and JSON fields, and JSON followed by words stays one line', () => {
  const fields = { id: 'A-1', note: 'two\nlines', list: [1, 2, { of: 'x'.repeat(200) }] };
  expect(textsOf(`ERROR in the shop ${JSON.stringify(fields)}`)).toContain('"id":"A-1"');
  expect(textsOf('{"id": "A-1", "of": {"b": 1}} and more')).toEqual(['{"id": "A-1", "of": {"b": 1}} and more']);
});

test('an object of a list, or one that its key names, is one record with its colour, size and price', () => {
  const item = { item_id: '1083930', options: { color: 'blue', size: 'XL' }, available: true, price: 87.49 };
  const other = { ...item, item_id: '1080599', options: { color: 'red', size: 'L' }, price: 50.49 };
  const shown = (one: typeof item, key = ''): string => key + JSON.stringify(one);
  const byKey = { variants: { [item.item_id]: item, [other.item_id]: other }, name: 'T-Shirt' };
  for (const text of [JSON.stringify(byKey), JSON.stringify(byKey, null, 4)])
    expect(textsOf(text)).toContain(shown(item, '"1083930":'));
  expect(textsOf(JSON.stringify({ rows: [item, other] }, null, 2))).toContain(shown(other));
});
