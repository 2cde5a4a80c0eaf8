import { expect, it } from 'vitest';
import { loadSdk } from '../../src/providers/provider-call.ts';

it('a model loads the SDK of its provider again after the SDK could not be loaded, and otherwise once', async () => {
  let loads = 0;
  const access = loadSdk(
    async () => {
      loads += 1;
      if (loads === 1) throw new Error('too many open files');
      return { name: 'sdk' };
    },
    ({ name }) => name,
  );
  await expect(access()).rejects.toThrow('too many open files');
  expect(await Promise.all([access(), access()])).toEqual(['sdk', 'sdk']);
  expect(loads).toBe(2);
});
