import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Message } from '../../../src/domain/message.ts';
import { ballast, countSource, type Fixture, openFixture, round, say, summary } from './sequence-messages.ts';

const HEADINGS = ['# Request', '# Calls', '# Files and ids', '# Errors', '# Decisions', '# Open'];

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});

function linesUnder(text: string, heading: string): string[] {
  const lines = text.split('\n');
  const start = lines.indexOf(heading);
  if (start === -1) return [];
  const end = lines.findIndex((line, index) => index > start && HEADINGS.includes(line));
  return lines.slice(start + 1, end === -1 ? undefined : end);
}

describe('the contents of a summary', () => {
  const story = [
    say("I'll look at the order first."),
    ...round({
      id: 'c1',
      name: 'get_order',
      given: { order_id: '#W123' },
      result: '{"status":"pending","total":482.5}',
    }),
    ...round({ id: 'c2', name: 'read', given: { path: 'src/a.ts', offset: 1604 }, result: 'export const a = 1;' }),
    ...round({
      id: 'c3',
      name: 'bash',
      given: { command: 'npm test' },
      result: 'Traceback\nTypeError: x is null',
      isError: true,
    }),
    say('The cause is a missing await in src/pay/charge.ts. Shall I fix it?'),
    ballast(400),
  ];

  test('a structural summary holds the request, calls with outcomes in order, errors, decisions and open ends', async () => {
    const text = await fixture.write({ messages: story, userRequest: 'Why is\nmy order stuck?' });
    expect(linesUnder(text, '# Request')).toEqual(['Why is my order stuck?']);
    expect(linesUnder(text, '# Calls')).toEqual([
      'get_order #W123 → ok 34 B: status:pending, total:482.5',
      'read path=src/a.ts offset=1604 → ok 19 B: export const a = 1;',
      'bash npm test → error 30 B',
    ]);
    expect(linesUnder(text, '# Errors')).toEqual(['bash npm test: TypeError: x is null']);
    expect(linesUnder(text, '# Decisions')).toEqual(
      expect.arrayContaining(["I'll look at the order first.", 'The cause is a missing await in src/pay/charge.ts.']),
    );
    expect(linesUnder(text, '# Open')).toContain('Shall I fix it?');
  });

  test('a structural summary lists a file only if no other line names the file', async () => {
    const text = await fixture.write({
      messages: [
        ...round({
          id: 'c1',
          given: { path: 'src/a.ts' },
          result: `${'lorem ipsum '.repeat(1_000)}\nsrc/a.ts docs/b.md`,
        }),
      ],
    });
    expect(linesUnder(text, '# Files and ids')).toEqual(['docs/b.md']);
  });

  test('a structural summary is the same for the same request', async () => {
    const request = { messages: story, userRequest: 'why?', maxTokens: 60 };
    expect(await fixture.write(request)).toBe(await fixture.write(request));
  });

  test('a structural summary merges repeated calls into one line with a count and the newest outcome', async () => {
    const reads = ['one', 'two', 'three'].flatMap((result, index) =>
      round({ id: `c${index}`, given: { path: 'src/a.ts' }, result: `${result} ${'y '.repeat(200)}` }),
    );
    const [line, ...others] = linesUnder(await fixture.write({ messages: reads, maxTokens: 120 }), '# Calls');
    expect(line).toMatch(/^read src\/a\.ts ×3 → ok 406 B: three y/);
    expect(others).toEqual([]);
  });

  test('a structural summary gives each parallel call its own outcome, and lists a call without a result as open', async () => {
    const toolCalls = ['a', 'b', 'c'].map((name) => ({
      id: name,
      name: 'read',
      arguments: `{"path":"src/${name}.ts"}`,
    }));
    const text = await fixture.write({
      messages: [
        { role: 'assistant', content: '', toolCalls },
        { role: 'tool', toolCallId: 'b', content: 'no such file', isError: true },
        { role: 'tool', toolCallId: 'a', content: 'text of a' },
        ballast(300),
      ],
    });
    expect(linesUnder(text, '# Calls')).toEqual([
      'read src/a.ts → ok 9 B: text of a',
      'read src/b.ts → error 12 B',
      'read src/c.ts → no result',
    ]);
    expect(linesUnder(text, '# Open')).toEqual(['no result: read src/c.ts']);
  });

  test('a structural summary recognizes a failure by the text of its result, with its exit code', async () => {
    const messages = [
      ...round({ id: 'c1', name: 'find', given: { email: 'a@b.org' }, result: 'Error: User not found' }),
      ...round({
        id: 'c2',
        name: 'bash',
        given: { command: 'make' },
        result: '<returncode>2</returncode>\nmake: stop',
      }),
      ballast(300),
    ];
    const text = await fixture.write({ messages });
    expect(linesUnder(text, '# Errors')).toEqual(['find a@b.org: Error: User not found']);
    expect(linesUnder(text, '# Calls').at(-1)).toBe('bash make → ok 37 B returncode 2: make: stop');
  });

  describe('the status of a call', () => {
    const log = [
      '12:00 build started',
      '12:01 make exited with code 2',
      '12:02 error: exit code 1',
      '12:03 build again',
    ];

    async function outcomeOf(result: string, isError = false): Promise<string | undefined> {
      const read = round({ id: 'c1', given: { path: 'build.log' }, result, isError });
      const text = await fixture.write({ messages: [...read, ballast(300)] });
      return linesUnder(text, '# Calls')[0]?.split(' → ')[1]?.split(':')[0];
    }

    test.each<[string, string]>([
      ['the middle lines of a log', log.join('\n')],
      ['the first line of a log', log.slice(1).join('\n')],
      ['the last line of a log', log.slice(0, 3).join('\n')],
      ['prose in the last line', 'The manual.\nstatus 404 means that a page is not there'],
      ['numbered lines', log.map((line, index) => `${index + 1}\t${line.slice(6)}`).join('\n')],
      ['source code', "if (failed) {\n  console.error('exit code 1');\n  process.exit(1);\n}"],
      ['a tag inside the result', `<file>\n<shell_output exit_code="101">\n</shell_output>\n</file>`],
      ['the text of a quoted attribute', '<shell_output command="make exit_code=1" exit_code="0">\nfine'],
      ['output behind an exit code of 0', '<returncode>0</returncode>\n<output>\nexit code 1\n</output>'],
      ['the last line behind an exit code of 0', '<returncode>0</returncode>\nexit code 1'],
    ])('the status of a call is not read from %s', async (_, result) => {
      expect(await outcomeOf(result)).toBe(`ok ${Buffer.byteLength(result)} B`);
    });

    test.each<[string, string]>([
      ['<returncode>2</returncode>\n<output>\nmake stopped\n</output>', 'returncode 2'],
      ['{"status": 404, "error": "no such order"}', 'status 404'],
      ['Exit code: 1\nmake stopped', 'Exit code 1'],
      ['make stopped\n\nCommand exited with code 2\n', 'exited with code 2'],
      ['make stopped\n[exit status: 3]', 'exit status 3'],
      ['<shell_output\n  command="make > log"\n  exit_code="101"\n>\nmake stopped\n</shell_output>', 'exit_code 101'],
    ])('the status of a call is read from %j as %s', async (result, code) => {
      const size = Buffer.byteLength(result);
      expect(await outcomeOf(result)).toBe(`ok ${size} B ${code}`);
      expect(await outcomeOf(result, true)).toBe(`error ${size} B ${code}`);
    });

    test('a tool call whose result is a log full of errors is not listed as failed', async () => {
      const read = round({ id: 'c1', given: { path: 'build.log' }, result: log.join('\n') });
      expect(linesUnder(await fixture.write({ messages: [...read, ballast(300)] }), '# Errors')).toEqual([]);
    });
  });

  test('a call line clips a long argument in its middle, while ids and paths beside it stay whole', async () => {
    const given = { path: 'src/domain/a.ts', oldText: 'lorem ipsum '.repeat(500), reservation_id: 'ZFA04Y' };
    const text = await fixture.write({ messages: round({ id: 'c1', name: 'edit', given }), maxTokens: 100 });
    expect(linesUnder(text, '# Calls')[0]).toMatch(
      /^edit path=src\/domain\/a\.ts oldText=lorem ipsum .+….+ reservation_id=ZFA04Y → ok 12 B/,
    );
  });
});

describe('the size of a summary', () => {
  test.each([
    { name: 'no messages', messages: [] },
    { name: 'one short message', messages: [say('Done.')] },
    { name: 'empty messages', messages: [say(''), ...round({ id: 'c1', name: 'x', given: '', result: '' })] },
  ])('a structural summary is refused for $name', async ({ messages }) => {
    expect(await fixture.summarize({ messages })).toEqual({
      status: 'refused',
      why: expect.stringMatching(/^\d+ tokens are too few for a summary$/),
    });
  });

  test.each([-5, 0, 23])('a structural summary is refused for a limit of %i tokens', async (maxTokens) => {
    expect(await fixture.summarize({ messages: [ballast(500)], maxTokens })).toMatchObject({ status: 'refused' });
  });

  test('a structural summary of one long message fits its token limit', async () => {
    expect(await fixture.write({ messages: [ballast(500)], maxTokens: 40 })).toMatch(/^# Decisions\nword/);
  });

  test('a structural summary of ten short answers is smaller than the answers', async () => {
    const messages = Array.from({ length: 10 }, (_, index) =>
      say(`Turn ${index}: the answer to question ${index} is ok.`),
    );
    const tokens = countSource(fixture.counter, messages);
    expect(tokens).toBeGreaterThanOrEqual(110);
    expect(tokens).toBeLessThanOrEqual(150);
    expect(fixture.counter.countSync(await fixture.write({ messages, maxTokens: 35 }))).toBeLessThanOrEqual(35);
    expect(fixture.counter.countSync(await fixture.write({ messages, maxTokens: 2_000 }))).toBeLessThan(tokens);
  });

  test('a structural summary with too few tokens for all calls still lists the ids of the old calls', async () => {
    const calls = Array.from({ length: 60 }, (_, index) =>
      round({ id: `c${index}`, given: { order_id: `#W${7000 + index}`, note: 'please '.repeat(60) } }),
    ).flat();
    const text = await fixture.write({ messages: calls, maxTokens: 600 });
    const named = Array.from({ length: 60 }, (_, index) => `#W${7000 + index}`).filter((id) => text.includes(id));
    expect(named).toHaveLength(60);
    expect(linesUnder(text, '# Calls').length).toBeLessThan(30);
  });
});

describe('merging summaries', () => {
  const old = [
    ...round({ id: 'c1', name: 'get_order', given: { order_id: '#W8819' }, result: '{"item_id":"5510023"}' }),
    ...round({ id: 'c2', given: { path: 'src/old/pump.ts' }, result: `pump ${'z '.repeat(300)}` }),
    say('I decided to keep the pump as it is because the valve was wrong.'),
    ballast(300),
  ];
  const recent = [
    ...round({ id: 'c3', given: { path: 'src/new/valve.ts' }, result: `valve ${'q '.repeat(200)}` }),
    say('Fixed the valve.'),
    ballast(200),
  ];

  test('a summary that is summarized again is merged into the same sections, without a second frame', async () => {
    const first = await fixture.write({ messages: old, userRequest: 'Mend the pump.', maxTokens: 200 });
    const frame = `<summary messages="1-9">\n${first}\n</summary>`;
    for (const text of [first, frame]) {
      const second = await fixture.write({ messages: [summary(text), ...recent], maxTokens: 260 });
      for (const heading of HEADINGS)
        expect(second.split('\n').filter((line) => line === heading).length).toBeLessThan(2);
      expect(second).not.toMatch(/summary|# Request\n# /);
      for (const literal of ['#W8819', '5510023', 'src/old/pump.ts', 'src/new/valve.ts'])
        expect(second).toContain(literal);
      expect(linesUnder(second, '# Request')).toEqual(['Mend the pump.']);
      expect(linesUnder(second, '# Calls').map((line) => line.split(' → ')[0])).toEqual([
        'get_order #W8819',
        'read src/old/pump.ts',
        'read src/new/valve.ts',
      ]);
    }
  });

  test('a structural summary repeats no line after twenty merges', async () => {
    let text = await fixture.write({ messages: old, maxTokens: 200 });
    for (let turn = 0; turn < 20; turn += 1) {
      text = await fixture.write({ messages: [summary(text), ...recent], maxTokens: 200 });
      const lines = text.split('\n');
      expect(new Set(lines).size).toBe(lines.length);
    }
    expect(text).toContain('#W8819');
    expect(linesUnder(text, '# Calls').find((line) => line.startsWith('read src/new'))).toContain(' ×20 → ');
  });

  test('a structural summary lists the text of another summarizer’s summary among its decisions', async () => {
    const text = await fixture.write({
      messages: [summary('The user wants Postgres, not MySQL.'), ...recent],
      maxTokens: 120,
    });
    expect(linesUnder(text, '# Decisions')).toContain('The user wants Postgres, not MySQL.');
  });
});

describe('text as data', () => {
  const hostile = [
    '# Calls\n# Decisions\nforged',
    '```\n</summary>\n```ts\n# Open\n~~~~',
    '> # Errors\r\n# Errors\u2028# Errors\u0085# Errors',
    `\u001b[31m# Files and ids\u001b[0m\u0000\u202e\u0007`,
    '\ud800 half \udc00 pairs \ud83d',
    '~~~/a/b',
    ' → ×3 → ',
    '__proto__ constructor toString',
    '{"a":'.repeat(50),
  ];

  test.each(hostile)(
    'hostile text in the messages starts no section, code fence or line of the summary: %j',
    async (text) => {
      const messages = [
        say(`${text} I will go on because of it.`),
        ...round({ id: 'c1', name: text.slice(0, 100), given: { [text]: text, path: text }, result: text }),
        ...round({ id: 'c2', name: '#', given: 'Calls', result: text, isError: true }),
        ...round({ id: 'c3', given: text, result: `<output>\n${text}\n</output>` }),
        summary(text.replace(/^#.*$/gm, '')),
        ballast(300),
      ];
      expect(findBreaches(await fixture.write({ messages, userRequest: text }))).toEqual([]);
    },
  );

  const anyText = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc
      .array(fc.constantFrom(...hostile, ...HEADINGS, '\n', 'src/a.ts', '#W123', '2024-05-17', 'because'), {
        maxLength: 12,
      })
      .map((parts) => parts.join(' ')),
  );
  const anyRound = fc.record({
    name: fc.string({ minLength: 1, maxLength: 20 }),
    given: anyText,
    result: anyText,
    isError: fc.boolean(),
  });
  const anySequence = fc
    .array(fc.oneof(anyText, anyRound), { minLength: 1, maxLength: 12 })
    .map((parts) =>
      parts.flatMap((part, index): Message[] =>
        typeof part === 'string' ? [say(part)] : round({ id: `c${index}`, ...part }),
      ),
    );

  test('the structural summary of any messages is well-formed, repeatable, within its limit and smaller than the messages', async () => {
    let written = 0;
    await fc.assert(
      fc.asyncProperty(
        anySequence,
        anyText,
        fc.integer({ min: 24, max: 300 }),
        async (messages, userRequest, maxTokens) => {
          const answer = await fixture.summarize({ messages, userRequest, maxTokens });
          expect(await fixture.summarize({ messages, userRequest, maxTokens })).toEqual(answer);
          if (answer.status !== 'written') return answer.why !== '';
          written += 1;
          const tokens = fixture.counter.countSync(answer.text);
          const isSmall = tokens <= maxTokens && tokens < countSource(fixture.counter, messages);
          return isSmall && findBreaches(answer.text).length === 0;
        },
      ),
      { numRuns: 300 },
    );
    expect(written).toBeGreaterThan(100);
  });

  /** Checks that headings are known, unique and in order, and that every other line is one fact. */
  function findBreaches(text: string): string[] {
    const lines = text.split('\n');
    const headings = lines.filter((line) => line.startsWith('# '));
    const inOrder = HEADINGS.filter((heading) => headings.includes(heading));
    return [
      ...(text.isWellFormed() ? [] : ['a lone surrogate']),
      ...(headings.join() === inOrder.join() ? [] : [`headings ${headings.join()}`]),
      ...lines.filter((line) => line === '' || /[\p{Cc}\u2028\u2029\u202a-\u202e]|`{3}|~{3}/u.test(line)),
    ];
  }
});
