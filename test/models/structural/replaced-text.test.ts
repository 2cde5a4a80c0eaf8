import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { findReplacedText } from '../../../src/summarize/structural/replaced-text.ts';

const editOf = (old: string, made: string) => `<<<<<<< SEARCH\n${old}\n=======\n${made}\n>>>>>>> REPLACE\n`;
const replacedIn = (text: string) => findReplacedText(text).map(([start, end]) => text.slice(start, end).trim());

it('the old lines of each edit are found, and nothing of a conflict in a file or of half an edit', () => {
  expect(replacedIn(`a.py\n${editOf('x = 1', 'x = 2')}Then:\n${editOf('y', '')}`)).toEqual(['x = 1', 'y']);
  expect(replacedIn('<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> dev\n')).toEqual([]);
  expect(replacedIn('<<<<<<< SEARCH\nx = 1\n=======\nx = 2')).toEqual([]);
  expect(replacedIn('a\n=======\nb\n>>>>>>> REPLACE')).toEqual([]);
});

it('the old lines of edits have no part of a new line or of the words around the edits', () => {
  const side = fc.stringMatching(/^[a-z ]{0,20}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(side, side, side), { maxLength: 5 }), (edits) => {
      const text = edits.map(([said, old, made]) => `+${said}\n${editOf(`-${old}`, `*${made}`)}`).join('');
      expect(replacedIn(text)).toEqual(edits.map(([, old]) => `-${old}`.trim()));
    }),
  );
});
