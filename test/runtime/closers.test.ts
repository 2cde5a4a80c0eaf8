import { expect, it } from 'vitest';
import { Closers } from '../../src/host/closers.ts';

it('Closers close each resource once in reverse order, even after a failed close', async () => {
  const closed: unknown[] = [];
  const closers = new Closers((error) => closed.push(error));
  const broken = new Error('it broke');
  closers.add(() => closed.push('first'));
  closers.add(() => Promise.reject(broken));
  closers.add(async () => {
    await Promise.resolve();
    closed.push('last');
  });
  await Promise.all([closers.close(), closers.close()]);
  await closers.close();
  expect(closed).toEqual(['last', broken, 'first']);
});

it('Closers close a resource that is registered after the close, and stop the code that opened it', async () => {
  const closed: unknown[] = [];
  const closers = new Closers((error) => closed.push(error));
  await closers.close();
  expect(() => closers.add(() => closed.push('late'))).toThrow('closed before all resources were opened');
  expect(closed).toEqual(['late']);
});
