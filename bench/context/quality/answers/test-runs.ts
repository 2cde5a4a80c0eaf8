import type { SourceLog } from './log.ts';
import { type Grade, gradeOne, type Topic } from './topic.ts';

const TEST_COMMANDS = [
  'pytest|py\\.test|npm (?:run )?test|vitest|jest|go test|cargo test|mvn .*test|make (?:check|test)|runtests|tox|unittest',
  'swift test|xcodebuild .*test|bin/test|rspec|ctest',
].join('|');
const TEST_COMMAND = new RegExp(String.raw`\b(?:${TEST_COMMANDS})\b`);
const COMMAND_KEY = /command|cmd|script/i;
const COUNT = /(\d+) (passed|failed|failures?|errors?|tests?|passing|failing|examples?)/gi;
const SUMMARY_LINE =
  /\b\d+ (?:passed|failed|failures?|errors?|tests?|passing|failing|skipped|warnings?|examples?)\b|^OK\b|test result:|^(?:FAIL|PASS|ok)\b|Ran \d+ tests?/i;
const VERDICT = /^(?:OK|FAIL|PASS|ok)/;
const MAX_LINE_CHARS = 400;
const MAX_PLAIN_CHARS = 40;

/** Counts of the last test run. */
export function findTestRun({ calls }: SourceLog): Topic | undefined {
  const counts = calls.findLast(isTestRun);
  const last = counts === undefined ? undefined : readLastCounts(counts.result);
  if (last === undefined) return undefined;
  const grade = (text: string): Grade => {
    const stated = readLastCounts(text);
    return gradeOne(stated === last, stated !== undefined && stated !== last);
  };
  const text =
    'How did the last test run end? Write its counts as the test runner printed them, e.g. "2 failed, 40 passed".';
  return { grade: (context) => ({ test: grade(context.text) }), asked: [{ kinds: ['test'], text, grade }] };
}

function isTestRun({ arguments: all, result }: SourceLog['calls'][number]): boolean {
  const isTest = all.some(({ key, value }) => COMMAND_KEY.test(key) && TEST_COMMAND.test(value));
  return isTest && readLastCounts(result) !== undefined;
}

/** Counts in the last line of a text that sums up a test run, in one form. */
function readLastCounts(text: string): string | undefined {
  const line = text.split('\n').findLast((one) => one.length < MAX_LINE_CHARS && SUMMARY_LINE.test(one));
  if (line === undefined) return undefined;
  const counts = [...line.matchAll(COUNT)].map(([, count, unit = '']) => `${count}${unit.charAt(0).toLowerCase()}`);
  if (counts.length > 0) return counts.join();
  return VERDICT.exec(line)?.[0].toLowerCase() ?? line.trim().slice(0, MAX_PLAIN_CHARS);
}
