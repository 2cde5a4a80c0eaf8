import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';

/** The program with zod, minified, without the vocabularies of tokenizers, which are loaded when a text is counted. */
const MAX_BYTES = 550_000;

test('the package entry turnfold/compact bundles only zod and js-tiktoken, and loads the vocabularies on first use', async () => {
  const entry = fileURLToPath(new URL('../../src/compact.ts', import.meta.url));
  const bundle = await rolldown({ input: entry, platform: 'node', logLevel: 'silent' });
  const { output } = await bundle.generate({ format: 'es', minify: true });
  const chunks = output.filter((file) => file.type === 'chunk');
  const packages = (modules: readonly string[]): string[] => {
    const paths = modules.map((id) => id.split('node_modules/').at(-1) ?? '').filter((path) => !path.startsWith('/'));
    return [...new Set(paths.map((path) => path.split('/')[0] as string))].toSorted((one, other) =>
      one.localeCompare(other),
    );
  };
  expect(packages(chunks.flatMap(({ moduleIds }) => moduleIds))).toStrictEqual(['js-tiktoken', 'zod']);
  const [main] = chunks.filter(({ isEntry }) => isEntry);
  expect(packages(main?.moduleIds ?? [])).toStrictEqual(['zod']);
  const rooms = new Set(main?.moduleIds.map((id) => /\/src\/([\w-]+)\//.exec(id)?.[1]));
  for (const room of ['store', 'jobs', 'telemetry', 'api', 'host', 'cli']) expect(rooms).not.toContain(room);
  expect(main?.code.length).toBeLessThan(MAX_BYTES);
});
