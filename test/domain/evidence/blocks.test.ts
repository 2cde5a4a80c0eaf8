import { expect, test } from 'vitest';
import {
  decideKind,
  findRecordForm,
  isHeading,
  type Line,
  shapeOfLine,
} from '../../../src/compaction/evidence/blocks.ts';

function linesOf(text: string): Line[] {
  let next = 0;
  return text.split('\n').map((line) => {
    const start = next;
    next = start + line.length + 1;
    return { start, end: start + line.length, text: line, next };
  });
}

test.each([
  ['rows', 'id,status,total\n4711,paid,12\n4712,open,7'],
  ['rows', 'NAME        READY   STATUS\napi-1       1/1     Running'],
  ['pairs', 'name: turnfold\nport: 8080\nlevel: warn'],
  ['prose', 'The refund fails because the limit is checked\nbefore the price table is applied to the order.'],
  ['text', '- book the wagon\n- paint the sign'],
  ['text', 'Book the wagon for Monday.'],
  ['listing', 'const a = 1;\nreturn a + 1;'],
] as const)('a block is recognized as %s: %j', (kind, text) => {
  expect(decideKind(linesOf(text))).toBe(kind);
});

test.each([
  ['## Orders', 'text', true],
  ['**Orders:**', 'text', true],
  ['# Orders', '', true],
  ['# a comment', 'run();', false],
])('the line %j before %j is a heading: %s', (text, next, expected) => {
  const [line, below] = linesOf(`${text}\n${next}`) as [Line, Line];
  expect(isHeading(line, below)).toBe(expected);
});

test('lines that say the same of different records have equal shapes', () => {
  expect(shapeOfLine('Status: paid')).toBe(shapeOfLine('Status: open'));
  expect(shapeOfLine('Status: paid')).not.toBe(shapeOfLine('Total: 12'));
  expect(shapeOfLine('  Status: paid')).not.toBe(shapeOfLine('Status: paid'));
});

test('a text that repeats records has the form of their lines', () => {
  const records = ['INV-1', 'INV-2', 'INV-3'].map((id) => `Invoice ${id}\nStatus: open\nTotal: 12`).join('\n');
  expect(findRecordForm(linesOf(records))).toEqual({
    head: shapeOfLine('Invoice INV-1'),
    shapes: new Set([shapeOfLine('Status: open'), shapeOfLine('Total: 12')]),
    isNamedLater: false,
  });
});

test.each([
  ['prose', 'The refund fails.\nNobody knows why.\nThe clerk is away.'],
  ['code', 'import a from "a";\nconst b = a();\nimport c from "c";\nconst d = c();'],
])('a text of %s has no form of records', (_, text) => {
  expect(findRecordForm(linesOf(text))).toBeUndefined();
});
