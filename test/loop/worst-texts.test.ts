import { expect, test } from 'vitest';
import { clipMessage } from '../../src/domain/compaction/clip.ts';
import { readQuery } from '../../src/domain/recall.ts';
import { renderSummary } from '../../src/domain/summary.ts';
import { classifyFailure } from '../../src/models/provider-errors.ts';
import { readSections } from '../../src/models/summarizer/sections.ts';
import { createRedaction } from '../../src/telemetry/secrets.ts';
import { holdsShortly } from '../setup/held-loop.ts';

/** The most characters that a message may have. */
const CHARS = 1_048_576;

function fill(piece: string): string {
  return piece.repeat(Math.floor(CHARS / piece.length));
}

const redact = createRedaction(['a-secret-of-this-process']);
const range = { from: 1, to: 9 };

test.each<[name: string, work: () => unknown]>([
  ['a summary with a tag that never closes', () => renderSummary(`<${fill(' ')}`, range)],
  ['a summary of opening brackets', () => renderSummary(fill('< /'), range)],
  ['a summary with a section of blanks', () => readSections(`## Goal\n-${fill(' -')}x`)],
  ['a summary with a section of full stops', () => readSections(`## Goal\nnone${fill('. ')}x`)],
  ['a log line of beginnings of tokens', () => redact(fill('eyJ-'))],
  ['a log line of dotted words', () => redact(fill('eyJabcdefgh.'))],
  ['a log line of beginnings of keys', () => redact(fill('sk-'))],
  ['a log line of names of secrets', () => redact(fill('password '))],
  ['a log line of one word', () => redact(fill('a'))],
  ['a log line of addresses', () => redact(fill('://a'))],
  ['a refusal of digits', () => classifyFailure({ status: 429, message: fill('0') }, 0)],
  ['a refusal of durations', () => classifyFailure({ status: 429, message: `try again in ${fill('1m')}` }, 0)],
  ['a refusal of places', () => classifyFailure({ status: 400, message: fill('messages.0') }, 0)],
  ['a refusal of opening quotes', () => classifyFailure({ status: 400, message: fill("Invalid 'messages[0]") }, 0)],
  ['a query of marks', () => readQuery(`a${'\u0000'.repeat(399)}a`)],
  [
    'arguments of escaped quotes',
    () => {
      const call = { id: 'c1_0', name: 'write', arguments: JSON.stringify({ text: fill('\\"') }) };
      return clipMessage({ role: 'assistant', content: '', toolCalls: [call] }, 100, 1);
    },
  ],
])('reading %s of 1 MiB holds the event loop below the limit', async (_name, work) => {
  expect(await holdsShortly(work)).toMatchObject({ isShort: true });
});

test('redaction finds a web token after other text and inside a list of words', () => {
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4';
  expect(redact(`a ${token} b`)).toBe('a [redacted] b');
  expect(redact(`session-${token}`)).toBe('session-[redacted]');
  expect(redact(`host.name ${token}`)).toBe('host.name [redacted]');
});
