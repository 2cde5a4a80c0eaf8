import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { tabulateModels } from '../../scripts/models-table.ts';
import { modelOptionsSchema } from '../../src/domain/model-options.ts';
import { CATALOGUE, CATALOGUE_DATA } from '../../src/providers/catalogue/catalogue.ts';
import { findRetirements } from '../../src/providers/retirements.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');

test('docs/reference/models.md has every model of the catalogue (node scripts/write-models.ts writes them)', () => {
  expect(read('docs/reference/models.md')).toContain(`\n${tabulateModels()}\n`);
});

test('docs/reference/models.md has every option of a model', () => {
  const page = read('docs/reference/models.md');
  for (const option of Object.keys(modelOptionsSchema.shape)) expect(page).toContain(`| \`${option}\``);
});

const PAGES = readdirSync(new URL('docs', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.endsWith('reference/models.md'))
  .map((name) => `docs/${name}`);

test('README, docs and examples name no model that was retired soon after the catalogue was read', () => {
  const names = [...CATALOGUE].flatMap(([name, { retiresOn }]) =>
    retiresOn === undefined ? [] : [{ name, retiresOn }],
  );
  const retiring = findRetirements(
    names.map(({ name, retiresOn }) => ({ id: name.replace(/^.*\//, ''), retiresOn })),
    Date.parse(CATALOGUE_DATA.readOn),
  ).map(({ model }) => model);
  const examples = readdirSync(new URL('examples', ROOT)).filter((name) => /\.(ts|md)$/.test(name));
  for (const path of ['README.md', ...PAGES, ...examples.map((name) => `examples/${name}`)]) {
    const named = read(path).match(/\b(?:gpt|claude)-[\w.-]*\w/g) ?? [];
    expect(
      named.filter((name) => retiring.includes(name)),
      path,
    ).toEqual([]);
  }
});
