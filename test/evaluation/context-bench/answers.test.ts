import { describe, expect, test } from 'vitest';
import { answerability, Questions } from '../../../bench/context/quality/answers/questions.ts';
import { readStatedCalls } from '../../../bench/context/quality/answers/stated-calls.ts';
import type { Grades } from '../../../bench/context/quality/answers/topic.ts';
import { readValues } from '../../../bench/context/quality/answers/values.ts';
import { isSaidTogether, wordsOf } from '../../../bench/context/quality/answers/wording.ts';
import type { Message } from '../../../src/domain/message.ts';
import { renderMessages } from '../../../src/evaluation/quality/searchable-text.ts';
import { round, says, user } from '../quality/conversation.ts';

const questionsOf = (before: readonly Message[], after: readonly Message[] = []) =>
  new Questions({ id: 'one', group: 'made', messages: [...before, ...after] }, before.length);

const gradeOf = (before: readonly Message[], context: string, after: readonly Message[] = []): Grades =>
  questionsOf(before, after).grade(context);

const right = { asked: 1, right: 1, wrong: 0 };
const missing = { asked: 1, right: 0, wrong: 0 };
const wrong = { asked: 1, right: 0, wrong: 1 };

describe('words of a statement', () => {
  test('words are lower case without marks at their ends, and without words that say little', () => {
    expect(wordsOf('Please REPAIR the login (src/login.ts), will you?')).toEqual(['repair', 'login', 'src/login.ts']);
  });

  test('Chinese and Japanese statements give pairs of characters', () => {
    expect(wordsOf('请 查询')).toEqual(['请查', '查询']);
  });

  test('words are said together only if one stretch of the text has enough of them', () => {
    const words = ['alpha', 'beta', 'gamma', 'delta'];
    const options = { reach: 40, share: 0.75 };
    expect(isSaidTogether(words, 'alpha beta x gamma', options)).toBe(true);
    expect(isSaidTogether(words, `alpha ${'x'.repeat(60)} beta gamma`, options)).toBe(false);
    expect(isSaidTogether(words, 'alpha beta', options)).toBe(false);
  });
});

describe('questions about requests and statements', () => {
  const log = [
    user('Migrate the billing database to the new cluster'),
    says('The schema was copied to the cluster without errors'),
    user('Continue with the nightly reports'),
  ];

  test('the first and the last request and the last statement are known if most of their words are there', () => {
    expect(gradeOf(log, renderMessages(log))).toEqual({ goal: right, ask: right, said: right });
    expect(gradeOf(log, 'migrate billing database new cluster')).toEqual({ goal: right, ask: missing, said: missing });
  });

  test('a log with one request has no question about the last request', () => {
    expect(gradeOf(log.slice(0, 1), '')).toEqual({ goal: missing });
  });
});

describe('questions about rules of users', () => {
  const log = [user('Fix the parser. Never edit generated files by hand!\nWe like tea.'), user('{"must": "be data"}')];

  test('each sentence of a user with a word of wish is a rule, and data is none', () => {
    expect(gradeOf(log, 'user: Never edit generated files by hand!').rules).toEqual(right);
    expect(gradeOf(log, 'Fix the parser.').rules).toEqual(missing);
  });

  test('rules in other languages are found', () => {
    expect(gradeOf([user('Bitte nur kleine Änderungen machen')], '').rules).toEqual(missing);
    expect(gradeOf([user('不要修改旧的文件')], '不要修改旧的文件').rules).toEqual(right);
  });
});

describe('questions about values of things', () => {
  const log = [
    ...round({ id: '#W1234567' }, '{"order": "#W1234567", "status": "pending", "city": "Bonn"}'),
    ...round({ id: '#W1234567' }, '{"order": "#W1234567", "status": "shipped"}'),
  ];

  test('the last value of a key of a thing counts', () => {
    expect(readValues(renderMessages(log)).get('#W1234567|status')).toBe('shipped');
  });

  test('a context with the last value is right, with an older value wrong, and without a value neither', () => {
    expect(gradeOf(log, 'order #W1234567, status: shipped').value).toEqual({ asked: 2, right: 1, wrong: 0 });
    expect(gradeOf(log, 'order #W1234567, status: pending').value).toEqual({ asked: 2, right: 0, wrong: 1 });
    expect(gradeOf(log, 'nothing').value).toEqual({ asked: 2, right: 0, wrong: 0 });
  });

  test('values that the agent uses next are asked for again', () => {
    const { usedValue } = gradeOf(log, '#W1234567 city: Bonn', [says('I will deliver to Bonn')]);
    expect(usedValue).toEqual(right);
  });

  test('logs whose results are no records have no question about values', () => {
    expect(gradeOf(round({ id: 1 }, 'status: shipped of #W1234567'), '').value).toBeUndefined();
  });
});

describe('questions about calls', () => {
  const log = [
    ...round({ command: 'make build' }, 'all good', 'bash'),
    ...round({ command: 'make check' }, 'error: 3 problems', 'bash'),
  ];

  test.each([
    ['messages', renderMessages(log)],
    ['lines with outcomes', '- bash(command: make build) ⇒ all good\n- bash(command: make check) ⇒ ERROR 3 problems'],
    ['lines with results', '→ bash(command: make build)\n← all good\n→ bash(command: make check)\n← error: 3 problems'],
    ['prose', 'I ran make build. Fine.'.padEnd(400) + 'make check failed'],
  ])('the outcome of each call is read from %s', (_, context) => {
    expect(gradeOf(log, context)).toMatchObject({ outcome: { asked: 2, right: 2, wrong: 0 }, failure: right });
  });

  test('a failed call that a context shows as worked is wrong, and an unknown call is missing', () => {
    const { outcome, failure } = gradeOf(log, '- bash(command: make check) ⇒ done');
    expect({ outcome, failure }).toEqual({ outcome: { asked: 2, right: 0, wrong: 1 }, failure: wrong });
  });

  test('the last call of a target counts', () => {
    const again = [...log, ...round({ command: 'make check' }, 'all good', 'bash')];
    expect(gradeOf(again, '')).toMatchObject({ outcome: { asked: 2 } });
    expect(gradeOf(again, '').failure).toBeUndefined();
  });

  test('results of parallel calls belong to the calls in their order', () => {
    const calls = readStatedCalls(
      '[assistant] both\n→ a(x: 1)\n→ b(x: 2)\n[tool] one\nmore\n[tool error] two\n[user] next',
    );
    expect(calls).toEqual([
      { text: 'a(x: 1)', result: 'one\nmore', isMarked: false },
      { text: 'b(x: 2)', result: 'two', isMarked: true },
    ]);
  });
});

describe('questions about files, tests and todo lists', () => {
  test('files that tools and shell commands write are changed files, and the last is asked for', () => {
    const log = [
      ...round({ path: 'src/a.ts', content: 'x' }, 'ok', 'write_file'),
      ...round({ command: "sed -i 's/x/y/' lib/b.py" }, '', 'bash'),
      ...round({ path: 'src/c.ts' }, 'text', 'read_file'),
    ];
    expect(gradeOf(log, 'edited a.ts, then changed b.py')).toMatchObject({
      edited: { asked: 2, right: 2, wrong: 0 },
      lastEdit: right,
    });
    expect(gradeOf(log, 'edited a.ts')).toMatchObject({ edited: { asked: 2, right: 1, wrong: 0 }, lastEdit: wrong });
    expect(gradeOf(log, 'a.ts and b.py exist').edited).toEqual({ asked: 2, right: 0, wrong: 0 });
  });

  test('the counts of the last test run are right, older counts are wrong', () => {
    const run = (counts: string) => round({ command: 'npx vitest run' }, `output\n${counts}\n`, 'bash');
    const log = [...run('3 failed, 40 passed'), ...run('43 passed')];
    expect(gradeOf(log, 'last test: 43 passed').test).toEqual(right);
    expect(gradeOf(log, 'last test: 3 failed, 40 passed').test).toEqual(wrong);
    expect(gradeOf(log, 'tests ran').test).toEqual(missing);
  });

  test('each item of the last todo list is right with its status', () => {
    const list = (status: string) => round({ todos: [{ content: 'write docs', status }] }, 'ok', 'todo_write');
    const log = [...list('pending'), ...list('completed')];
    expect(gradeOf(log, '- write docs: completed').todo).toEqual(right);
    expect(gradeOf(log, '- write docs: pending').todo).toEqual(wrong);
    expect(gradeOf(log, '- write docs').todo).toEqual(missing);
  });
});

describe('answerability', () => {
  test('answerability is the mean of the kinds that a point has', () => {
    expect(answerability({ goal: right, value: { asked: 4, right: 1, wrong: 1 } })).toBe(0.625);
    expect(answerability({})).toBeUndefined();
  });

  test('a reader that answers each question as the log does is right in every kind', () => {
    const log = [
      user('Repair the login page, and never touch legacy code.'),
      ...round({ command: 'npx vitest run' }, '2 failed, 5 passed', 'bash'),
      ...round({ path: 'src/login.ts' }, 'ok', 'edit_file'),
      says('The login page is repaired, two tests remain.'),
    ];
    const truth: Readonly<Record<string, string>> = {
      goal: 'Repair the login page, and never touch legacy code.',
      rules: 'Repair the login page, and never touch legacy code.',
      outcome: 'worked',
      edited: 'login.ts',
      lastEdit: 'src/login.ts',
      test: '2 failed, 5 passed',
      said: 'The login page is repaired, two tests remain.',
    };
    const { asked } = questionsOf(log);
    expect(asked.map(({ kinds }) => kinds[0] ?? '').toSorted((one, other) => one.localeCompare(other))).toEqual([
      'edited',
      'goal',
      'lastEdit',
      'outcome',
      'outcome',
      'rules',
      'said',
      'test',
    ]);
    for (const { kinds, grade, text } of asked) {
      const graded = grade(truth[kinds[0] as string] ?? '');
      expect({ text, right: graded.right }).toEqual({ text, right: graded.asked });
      expect(grade('')).toMatchObject({ right: 0, wrong: 0 });
    }
  });
});
