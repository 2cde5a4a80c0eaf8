import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { readOptions } from '../../../bench/context/options.ts';

const readIn = (isInCi: boolean) => (text: string) => readOptions(text === '' ? [] : text.split(' '), isInCi);
const read = readIn(false);

test('the context benchmark measures all rows, families and live runs by default, and asks no reader', () => {
  const { rows, families, hasLive, limits, output, reader } = read('');
  expect({ rows, hasLive, limits, output, reader }).toEqual({
    rows: undefined,
    hasLive: true,
    limits: { tokenThreshold: 12_000, maxTokens: 6_000 },
    output: { kind: 'text' },
    reader: undefined,
  });
  expect(families).toContain('chat');
});

test('options of the context benchmark replace the defaults', () => {
  const given = `--budgets 0.2,2000 --families chat,web --rows mask --held-out ${tmpdir()} --no-live --limits 8000,4000 --write`;
  expect(read(given)).toMatchObject({
    budgets: [0.2, 2_000],
    families: ['chat', 'web'],
    rows: ['mask'],
    hasLive: false,
    limits: { tokenThreshold: 8_000, maxTokens: 4_000 },
    hasPlanted: true,
    output: { kind: 'page' },
  });
});

test.each([
  ['--budgets 0', '--budgets'],
  ['--budgets 1.5', '--budgets'],
  ['--budgets 0.2,', '--budgets'],
  ['--budgets 0x10', '--budgets'],
  ['--families shop', '--families'],
  ['--held-out /does/not/exist', '--held-out'],
  ['--limits 6000', '--limits'],
  ['--limits 6000,12000', '--limits'],
  ['--json --write', '--write'],
  ['--speed 3', '--speed'],
  ['--reader claude', '--reader'],
  ['--reader anthropic/x --reader-requests 0', '--reader-requests'],
  ['--reader anthropic/x --reader-tokens many', '--reader-tokens'],
])('the context benchmark refuses `%s` and names the option', (given, field) => {
  expect(() => read(given)).toThrow(expect.objectContaining({ code: 'invalid_input', field }));
});

test('the context benchmark asks no reader in CI, where no person agrees to its cost', () => {
  expect(read('--reader anthropic/x').reader).toEqual({ model: 'anthropic/x', maxRequests: 30, maxTokens: 300_000 });
  expect(() => readIn(true)('--reader anthropic/x')).toThrow(expect.objectContaining({ field: '--reader' }));
});
