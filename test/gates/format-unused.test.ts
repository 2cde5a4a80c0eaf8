import { expect, test } from 'vitest';
import { buildFixture } from './fixture.ts';

// The tests of the gates `ceilings` and `imports` include projects that pass.
test.each(['format:check', 'lint', 'unused'])('the gate %s passes for a project without violations', async (gate) => {
  using fixture = buildFixture();
  const { code, output } = await fixture.run(gate);
  expect(output).not.toContain('nothing-checked');
  expect(code, output).toBe(0);
});

test('the format gate reports layout and the order of imports', async () => {
  using fixture = buildFixture();
  fixture.write({
    'src/domain/wide.ts': `export const wide={a:1}\n`,
    'src/cli/order.ts': `import { z } from 'zod';\nimport { parseTurn } from '../domain/turn.ts';\nimport { a } from '../domain/a.ts';\n\nexport const all = [z, parseTurn, a];\n`,
  });
  const { code, output } = await fixture.run('format:check');
  expect(code).not.toBe(0);
  expect(output).toContain('src/domain/wide.ts format');
  expect(output).toContain('src/cli/order.ts');
  expect(output).toContain('organizeImports');
});

test('the unused gate reports unused files, exports and packages', async () => {
  using fixture = buildFixture();
  fixture.write({
    'package.json': JSON.stringify({ name: 'fixture', type: 'module', dependencies: { zod: '*', commander: '*' } }),
    'src/domain/forgotten.ts': `export const forgotten = 1;\n`,
    'src/domain/errors.ts': `export class CodedError extends Error {}\nexport const nobodyAsks = 1;\n`,
    'src/host/config.ts': `import 'ioredis';\n\nexport const redisUrl = process.env['REDIS_URL'];\n`,
  });
  const { code, output } = await fixture.run('unused');
  expect(code).not.toBe(0);
  expect(output).toMatch(/Unused files[^]*src\/domain\/forgotten\.ts/);
  expect(output).toMatch(/Unused dependencies[^]*commander/);
  expect(output).toMatch(/Unlisted dependencies[^]*ioredis/);
  expect(output).toMatch(/Unused exports[^]*nobodyAsks/);
});
