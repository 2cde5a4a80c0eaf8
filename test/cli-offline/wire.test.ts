import { describe, expect, test } from 'vitest';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { readJsonLines, runTurnfold, writeTemporary } from '../cli/run-turnfold.ts';

const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Read it.' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'x', name: 'read', arguments: '{"path":"a"}' }] },
  { role: 'user', content: 'And now?' },
  { role: 'tool', toolCallId: 'x', content: '', isError: true },
];

const MOVED = 'messages[4]: repaired: a result that came after a later message was moved behind its call';

async function render(lines: string | readonly unknown[], ...args: string[]) {
  return await runTurnfold(['render', await writeTemporary('talks.jsonl', lines), ...args]);
}

async function validate(body: unknown, ...args: string[]) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return await runTurnfold(['validate', await writeTemporary('request.json', text), ...args]);
}

describe('render', () => {
  test('turnfold render prints the request body of each conversation in order', async () => {
    const talks = [
      { id: 'one', messages },
      { id: 'two', messages: [{ role: 'user', content: 'Hi.' }] },
    ];
    const { code, stdout, stderr } = await render(
      talks,
      '--format',
      'anthropic',
      '--model',
      'claude',
      '--system',
      'Help.',
    );
    expect({ code, stderr }).toStrictEqual({ code: 0, stderr: `one: ${MOVED}\n` });
    const [one, two] = readJsonLines(stdout);
    expect(one).toMatchObject({
      model: 'claude',
      system: [{ text: 'Help.' }, { text: 'Be brief.' }],
      tools: [{ name: 'unknown_tool' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Read it.' }] },
        { role: 'assistant', content: [{ type: 'tool_use', name: 'read', input: { path: 'a' } }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', content: [{ type: 'text', text: '(empty)' }], is_error: true },
            { type: 'text', text: 'And now?' },
          ],
        },
      ],
    });
    expect(two).toMatchObject({ messages: [{ content: [{ text: 'Hi.' }] }] });
  });

  test('turnfold render includes a provider-specific item only in a request to the model that wrote it', async () => {
    const raw = {
      format: 'anthropic',
      model: 'claude',
      items: [
        { type: 'thinking', thinking: '', signature: 's=' },
        { type: 'text', text: 'Hi.' },
      ],
    };
    const talk = { messages: [messages[1], { role: 'assistant', content: 'Hi.', raw }, messages[1]] };
    const kept = await render([talk], '--format', 'anthropic');
    expect(readJsonLines(kept.stdout)).toMatchObject([{ model: 'claude' }]);
    expect(kept.stdout).toContain('"signature":"s="');
    const other = await render([talk], '--format', 'anthropic', '--model', 'other');
    expect(other.stdout).not.toContain('signature');
  });

  test('turnfold render reports the id of a conversation that it refuses and renders the others', async () => {
    const talks = [
      { id: 'bad', messages: [messages[4]] },
      { id: 'good', messages: [messages[1]] },
    ];
    const { code, stdout, stderr } = await render(talks, '--format', 'openai-chat');
    expect(code).toBe(1);
    expect(readJsonLines(stdout)).toMatchObject([{ messages: [{ role: 'user' }] }]);
    expect(stderr).toMatch(/^turnfold: bad: orphan_result: messages\[0\]\.toolCallId/);
  });

  test.each([
    [['--format', 'gemini'], /^turnfold: invalid_input: --format: .*anthropic/],
    [[], /'--format <name>' not specified/],
  ])('turnfold render refuses the options %j', async (args, words) => {
    const { code, stdout, stderr } = await render([{ messages }], ...args);
    expect({ code, stdout }).toStrictEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(words);
  });

  test('turnfold render reads standard input for - and ignores a byte order mark', async () => {
    const input = `\uFEFF${JSON.stringify({ messages: [messages[1]] })}\n\n${JSON.stringify({ messages })}`;
    const { code, stdout, stderr } = await runTurnfold(['render', '-', '--format', 'openai-chat'], { input });
    expect({ code, stderr }).toStrictEqual({ code: 0, stderr: `line-3: ${MOVED}\n` });
    expect(readJsonLines(stdout)).toMatchObject([{ messages: [{ content: 'Read it.' }] }, { tools: [{}] }]);
  });

  test('turnfold render reports a missing file', async () => {
    const run = await runTurnfold(['render', '/nowhere.jsonl', '--format', 'anthropic']);
    expect(run).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^turnfold: not_found: /) as string,
    });
  });
});

describe('validate', () => {
  test.each(WIRE_FORMATS)('turnfold validate accepts the %s request that render prints', async (format) => {
    const { stdout } = await render([{ messages }], '--format', format);
    expect(await validate(stdout, '--format', format)).toStrictEqual({
      code: 0,
      stdout: `valid ${format} request\n`,
      stderr: '',
    });
    const json = await validate(stdout, '--format', format, '--json');
    expect({ ...json, stdout: readJsonLines(json.stdout) }).toStrictEqual({
      code: 0,
      stdout: [{ violations: [] }],
      stderr: '',
    });
  });

  const broken = { messages: [{ role: 'user', content: ' ' }, { role: 'robot' }] };

  test('turnfold validate names each broken rule with its path and exits with 1', async () => {
    expect(await validate(broken, '--format', 'openai-chat')).toStrictEqual({
      code: 1,
      stdout:
        'form  messages[1].role: Invalid option: expected one of "system"|"developer"|"user"|"assistant"|"tool"\nX3    messages[0].content: the text is empty or blank\n',
      stderr: '',
    });
    expect((await validate([], '--format', 'anthropic')).stdout).toContain(
      'X5    request: the request has no message other than system messages\n',
    );
  });

  test('turnfold validate --json prints the broken rules as JSON', async () => {
    const { code, stdout, stderr } = await validate(broken, '--format', 'openai-chat', '--json');
    expect({ code, stderr }).toStrictEqual({ code: 1, stderr: '' });
    expect(readJsonLines(stdout)).toStrictEqual([
      {
        violations: [
          { rule: 'form', path: 'messages[1].role', message: expect.any(String) as string },
          { rule: 'X3', path: 'messages[0].content', message: 'the text is empty or blank' },
        ],
      },
    ]);
  });

  test.each([
    [
      '{"messages": [',
      'anthropic',
      /^turnfold: invalid_input: .*request\.json: not JSON, expected one request body\n$/,
    ],
    ['{}', 'gemini', /^turnfold: invalid_input: --format: /],
  ])('turnfold validate exits with 2 for the unusable input %s as %s', async (text, format, words) => {
    const { code, stdout, stderr } = await validate(text, '--format', format);
    expect({ code, stdout }).toStrictEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(words);
    const json = await validate(text, '--format', format, '--json');
    expect(json).toMatchObject({ code: 2, stdout: '' });
    expect(readJsonLines(json.stderr)).toMatchObject([{ error: { code: 'invalid_input' } }]);
  });

  test('turnfold validate reads standard input for -, so that a pipe from render works', async () => {
    const { stdout: input } = await render([{ messages }], '--format', 'anthropic');
    const run = await runTurnfold(['validate', '-', '--format', 'anthropic'], { input });
    expect(run).toStrictEqual({ code: 0, stdout: 'valid anthropic request\n', stderr: '' });
    const refused = await runTurnfold(['validate', '-', '--format', 'anthropic'], { input: '[]' });
    expect(refused).toMatchObject({ code: 1, stderr: '', stdout: expect.stringContaining('X5 ') as string });
  });

  test('turnfold validate refuses several bodies on standard input', async () => {
    const { stdout: input } = await render([{ messages }, { messages }], '--format', 'anthropic');
    const run = await runTurnfold(['validate', '-', '--format', 'anthropic'], { input });
    expect(run).toStrictEqual({
      code: 2,
      stdout: '',
      stderr: 'turnfold: invalid_input: standard input: not JSON, expected one request body\n',
    });
  });

  test('turnfold validate exits with 2 for a missing file', async () => {
    const run = await runTurnfold(['validate', '/nowhere.json', '--format', 'anthropic']);
    expect(run).toMatchObject({ code: 2, stderr: expect.stringMatching(/^turnfold: not_found: /) as string });
  });
});
