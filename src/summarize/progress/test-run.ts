import { listValues, readArguments } from '../../compaction/evidence/call-values.ts';
import type { ToolCall } from '../../domain/message.ts';

/** Words with which programs count tests, in the order of the pairs below. */
const WORD =
  '(?:pass(?:ed|es|ing)?|succe(?:eded|ss(?:es|ful)?)|fail(?:ed|ures?|ing|s)?|errors?|skipped|ignored|pending|broken|tests?|examples?|specs?|assertions?|total|ok)';
const COUNT_FIRST = new RegExp(`\\b(\\d+)%?\\s+(?:tests?\\s+|examples?\\s+|suites?\\s+)?(${WORD})\\b`, 'gi');
const WORD_FIRST = new RegExp(`\\b(${WORD})(?:\\s+run)?\\s*[:=]\\s*(\\d+)\\b`, 'gi');
/** A line about tests with one count, or with none: `Ran 17 tests in 0.1s`, `FAILED (failures=1)`, `ok  pkg/a  0.2s`. */
const SINGLE =
  /^\W*(?:ran \d+ tests?\b|all tests passed|\d+ (?:passed|passing|failing|examples?)\b|tests? result\b|(?:PASSED|FAILED)\W{0,4}\d+ tests?\b|(?:ok|FAIL)\s+\S+\s+\(?[\d.]+ ?m?s)/i;
const VERDICT = /^(?:OK|FAILED|PASS|FAIL|SUCCESS)\b(?:\s*\(.{0,80}\))?\W*$/;
const NEEDED = /pass|fail|test|example|spec/i;

const MAX_LINE_CHARS = 240;
const MAX_LINES = 3;
/** Characters at the end of a result that hold its summary. */
const END_CHARS = 16_384;
/** A verdict or a further count belongs to the summary only this close to it. */
const MAX_DISTANCE = 4;

/** @returns the last lines of a result that count tests, at most three, or [] */
export function findTestSummary(content: string): string[] {
  const lines = content
    .slice(-END_CHARS)
    .split('\n')
    .map((line) => line.trim());
  const last = lines.findLastIndex((line) => countsTests(line));
  if (last < 0) return [];
  const found: string[] = [];
  for (const [at, line] of lines.entries()) {
    const isNear = Math.abs(at - last) <= MAX_DISTANCE;
    if (isNear && (countsTests(line) || (at > last && VERDICT.test(line)))) found.push(line);
  }
  return found.slice(-MAX_LINES);
}

function countsTests(line: string): boolean {
  if (line.length > MAX_LINE_CHARS || !NEEDED.test(line)) return false;
  if (SINGLE.test(line)) return true;
  const words = [
    ...[...line.matchAll(COUNT_FIRST)].map(([, , word = '']) => word),
    ...[...line.matchAll(WORD_FIRST)].map(([, word = '']) => word),
  ].map((word) => word.slice(0, 4).toLowerCase());
  return new Set(words).size > 1 && words.some((word) => word === 'pass' || word === 'fail' || word === 'test');
}

const COMMAND_KEY = /^(?:command|cmd|argv|script|code)$/i;
/** Programs that show what others wrote. Counts of tests in their output come from a file. */
const SHOWS =
  /^\s*(?:cd \S+ *(?:&&|;) *)?(?:cat|head|tail|less|more|grep|rg|sed|awk|nl|echo|printf|ls|find|git|diff|vi|nano)\b/;

/** False for a call that only shows a text, in which counts of tests may stand, too. */
export function mayRunTests(call: ToolCall): boolean {
  const command = listValues(readArguments(call), 16).find(({ key }) => COMMAND_KEY.test(key));
  return command === undefined ? /test|check|run|build|verify/i.test(call.name) : !SHOWS.test(command.text);
}
