import { expect, it } from 'vitest';
import { Closers } from '../../src/runtime/closers.ts';

it('closes each resource once in reverse order, also after a failed close', async () => {
  const told: unknown[] = [];
  const closers = new Closers((error) => told.push(error));
  const broken = new Error('it broke');
  closers.add(() => told.push('first'));
  closers.add(() => Promise.reject(broken));
  closers.add(async () => {
    await Promise.resolve();
    told.push('last');
  });
  await Promise.all([closers.close(), closers.close()]);
  await closers.close();
  expect(told).toEqual(['last', broken, 'first']);
});

it('closes a late resource, and stops its opener', async () => {
  const told: unknown[] = [];
  const closers = new Closers((error) => told.push(error));
  await closers.close();
  expect(() => closers.add(() => told.push('late'))).toThrow('closed before all was opened');
  expect(told).toEqual(['late']);
});
