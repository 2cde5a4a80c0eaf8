import { expect, test } from 'vitest';
import type { StreamOptions, TurnfoldClient, TurnPart } from '../../src/api/client/index.ts';
import { enqueue } from '../../src/cli/commands/turns.ts';
import type { TurnView } from '../../src/domain/turn.ts';
import { collectOutput, readJsonLines } from '../cli/run-turnfold.ts';

const turn = { turn: 't1', agent: 'a', acceptedAt: 1, settledAt: 2, requestTokens: [] };
const text = (piece: string, step = 1): TurnPart => ({ type: 'text', id: '1-0-0', step, piece });

function result(state: object): TurnPart {
  return { type: 'end', id: '2-1-0', view: { ...turn, ...state } as unknown as TurnView }; // each test gives what its state needs
}

const answered = (content: string): TurnPart => result({ state: 'completed', answer: { seq: 2, content } });

/** Runs `enqueue` against a stream of these parts. */
async function print(parts: readonly TurnPart[], options: { wait?: number; json?: boolean; stream?: boolean } = {}) {
  const requested: (StreamOptions | undefined)[] = [];
  async function* stream(_: unknown, __: string, given?: StreamOptions): AsyncGenerator<TurnPart> {
    requested.push(given);
    yield* parts;
  }
  const client = { enqueueTurn: async () => ({ turn: 't1' }), stream } as unknown as TurnfoldClient;
  const { output, printed } = collectOutput();
  const typed = { agent: 'a', tenant: '_', stream: true, wait: 0, ...options };
  const code = await enqueue({ client, output }, 'c1', 'hello', typed);
  return { ...printed, code, requested };
}

test('turnfold enqueue --stream prints each step on its own lines and the answer only once', async () => {
  expect(
    await print([text('Let me '), text('see.'), text('It is', 2), text(' blue.', 2), answered('It is blue.')]),
  ).toEqual({
    stdout: 'Let me see.\nIt is blue.\n',
    stderr: '',
    code: 0,
    requested: [{}],
  });
});

test('turnfold enqueue --stream prints the whole answer if its text was not printed piece by piece', async () => {
  expect(await print([text('It is'), answered('It is blue.')])).toMatchObject({ stdout: 'It is\nIt is blue.\n' });
  expect(await print([answered('It is blue.')])).toMatchObject({ stdout: 'It is blue.\n' });
});

test('turnfold enqueue --stream prints progress of tools and the values that they emit to standard error', async () => {
  const at = { id: '1-0-0', step: 1, call: 'c2_0' };
  const parts: TurnPart[] = [
    text('Let me see.'),
    { type: 'progress', ...at, text: 'pages', done: 3, total: 10 },
    { type: 'data', ...at, name: 'chart', data: { bars: [1] } },
    { type: 'data', ...at, name: 'long', data: 'x'.repeat(300) },
    answered('It is blue.'),
  ];
  const { stderr } = await print(parts);
  expect(stderr).toBe(`  c2_0  3 of 10 pages\n  c2_0  chart {"bars":[1]}\n  c2_0  long "${'x'.repeat(199)}…\n`);
});

test('turnfold enqueue --stream notes that a step starts again', async () => {
  const again = [
    text('It is bl'),
    { type: 'restart', id: '1-0-0', step: 1 } as const,
    text('It is red.'),
    answered('It is red.'),
  ];
  expect(await print(again)).toMatchObject({
    stdout: 'It is bl\nIt is red.\n',
    stderr: '(the step starts again, ignore its text above)\n',
  });
});

test('turnfold enqueue --stream prints why there is no answer and exits with 1', async () => {
  const failure = { code: 'model_failed', message: 'no' };
  expect(await print([text('It '), result({ state: 'failed', failure })])).toMatchObject({
    stdout: 'It \nt1  failed  model_failed: no\n',
    code: 1,
  });
  expect(await print([result({ state: 'running' })], { wait: 0.2 })).toMatchObject({
    stdout: 't1  running\n',
    stderr: expect.stringMatching(
      /^turn not settled within 0.2 s\. To keep waiting, run: turnfold result c1 t1 --wait 0.2\n/,
    ) as string,
    code: 1,
    requested: [{ waitMs: 200 }],
  });
});

test('turnfold enqueue --stream and --wait print the awaited calls and the command that answers as soon as the turn waits', async () => {
  const until = Date.UTC(2026, 10, 29);
  const calls = [{ id: 'c2_0', name: 'refund', arguments: '{"order":"o-1"}', until }];
  const waiting = { for: 'approval', step: 'model-1', since: 1, until, calls } as const;
  const parts = [text('Let me see.'), { type: 'wait', id: '2-1-0', waiting } as const, answered('paid back')];
  const stderr = [
    't1  waiting  for approval, until 2026-11-29T00:00:00.000Z',
    '  c2_0  refund({"order":"o-1"})',
    'turnfold answer c1 t1 c2_0 --approve (or --deny)',
    '',
  ].join('\n');
  expect(await print(parts)).toMatchObject({ stdout: 'Let me see.\npaid back\n', stderr });
  const quiet = await print(parts, { wait: 1, stream: false });
  expect(quiet, 'with --wait alone, too').toMatchObject({ stdout: 'paid back\n', stderr });
});

test('turnfold enqueue --stream --json prints each part and the result as a line of JSON', async () => {
  const parts = [text('It is "x"\n'), answered('It is "x"\n')];
  const { stdout } = await print(parts, { json: true });
  expect(readJsonLines(stdout)).toEqual(parts);
});
