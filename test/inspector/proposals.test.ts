import { expect, test } from 'vitest';
import { approvalCommand, editsOf, rangeOfField } from '../../inspector/src/proposal/proposals.ts';

const summaries = [
  { range: '1-4', tokens: 3, model: 'structural', text: 'one' },
  { range: '6-9', tokens: 3, model: 'structural', text: 'two' },
];

test('an approval sends only the summary texts that a person has changed', () => {
  const drafts = new Map([
    ['1-4', 'one'],
    ['6-9', 'other'],
  ]);
  expect(editsOf(summaries, drafts)).toEqual({ '6-9': 'other' });
  expect(editsOf(summaries, new Map())).toEqual({});
});

test('the proposal form finds the summary that an error is about', () => {
  expect(rangeOfField('edits.6-9')).toBe('6-9');
  expect(rangeOfField('waitMs')).toBeUndefined();
  expect(rangeOfField(undefined)).toBeUndefined();
});

test('the command that approves edited summary texts names a file for these texts', () => {
  expect(approvalCommand('c-17', {})).toBe('turnfold approve c-17');
  expect(approvalCommand('c-17', { '1-4': 'other' })).toBe('turnfold approve c-17 --edits <file>');
});
