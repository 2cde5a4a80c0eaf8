import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { drawContextGrowth, GROWTH_PICTURE } from '../../scripts/growth-picture.ts';
import { listElements, readMarkup } from '../reports/read-report.ts';

test('the picture of a growing context in the docs is the output of scripts/write-pictures.ts', async () => {
  const drawn = await drawContextGrowth();
  expect(await readFile(GROWTH_PICTURE, 'utf8')).toBe(drawn);
  expect(listElements(readMarkup(drawn), 'circle').length).toBeGreaterThan(2);
});
