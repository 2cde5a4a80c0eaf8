import { expect, test } from 'vitest';
import { clipMessage } from '../../src/compaction/clip.ts';
import { readRecallQuery } from '../../src/compaction/recall/recall-query.ts';
import { renderSummary } from '../../src/domain/summary.ts';
import { classifyFailure } from '../../src/providers/provider-errors.ts';
import { readSections } from '../../src/summarize/model/sections.ts';
import { readAnswer } from '../../src/summarize/model/summary-answer.ts';
import { createRedaction } from '../../src/telemetry/secrets.ts';
import { holdsShortly } from '../setup/held-loop.ts';

/** The maximum number of characters of a message. */
const CHARS = 1_048_576;

function fill(piece: string): string {
  return piece.repeat(Math.floor(CHARS / piece.length));
}

const redact = createRedaction(['a-secret-of-this-process']);
const range = { from: 1, to: 9 };

test.each<[name: string, work: () => unknown]>([
  ['rendering a summary with a tag that never closes', () => renderSummary(`<${fill(' ')}`, range)],
  ['rendering a summary of opening brackets', () => renderSummary(fill('< /'), range)],
  ['reading the section of blanks in a summary', () => readSections(`## Goal\n-${fill(' -')}x`)],
  ['reading the section of full stops in a summary', () => readSections(`## Goal\nnone${fill('. ')}x`)],
  [
    'reading a summary of escaped quotes without an end',
    () => readAnswer({ content: `"goal":"${fill('\\"')}`, toolCalls: [] }),
  ],
  ['redacting a log line that repeats the start of a web token', () => redact(fill('eyJ-'))],
  ['redacting a log line of dotted words', () => redact(fill('eyJabcdefgh.'))],
  ['redacting a log line that repeats the start of an API key', () => redact(fill('sk-'))],
  ['redacting a log line of the word password', () => redact(fill('password '))],
  ['redacting a log line of one word', () => redact(fill('a'))],
  ['redacting a log line of URLs', () => redact(fill('://a'))],
  ['classifying a provider error of digits', () => classifyFailure({ status: 429, message: fill('0') }, 0)],
  [
    'classifying a provider error of durations',
    () => classifyFailure({ status: 429, message: `try again in ${fill('1m')}` }, 0),
  ],
  [
    'classifying a provider error of field paths',
    () => classifyFailure({ status: 400, message: fill('messages.0') }, 0),
  ],
  [
    'classifying a provider error of opening quotes',
    () => classifyFailure({ status: 400, message: fill("Invalid 'messages[0]") }, 0),
  ],
  ['parsing a recall query of null characters', () => readRecallQuery(`a${'\u0000'.repeat(399)}a`)],
  [
    'clipping tool arguments of escaped quotes',
    () => {
      const call = { id: 'c1_0', name: 'write', arguments: JSON.stringify({ text: fill('\\"') }) };
      return clipMessage({ role: 'assistant', content: '', toolCalls: [call] }, 100, 1);
    },
  ],
])('with an input of 1 MiB, %s blocks the event loop for less than the limit', async (_name, work) => {
  expect(await holdsShortly(work)).toMatchObject({ isShort: true });
});

test('redaction removes a web token from a log line after other text and inside a list of words', () => {
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4';
  expect(redact(`a ${token} b`)).toBe('a [redacted] b');
  expect(redact(`session-${token}`)).toBe('session-[redacted]');
  expect(redact(`host.name ${token}`)).toBe('host.name [redacted]');
});
