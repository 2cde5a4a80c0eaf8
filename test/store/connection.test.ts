import { expect, onTestFinished, test } from 'vitest';
import { openConnection } from '../../src/store/connection.ts';
import { findClosedPort } from '../local-redis/fixture.ts';

test('an outage is told once, however often the connection tries to come back', async () => {
  const errors: Error[] = [];
  const redis = openConnection({
    url: `redis://127.0.0.1:${await findClosedPort()}`,
    onError: (error) => errors.push(error),
  });
  onTestFinished(() => redis.disconnect());
  for (const _ of [1, 2, 3]) await new Promise((resolve) => redis.once('reconnecting', resolve));
  expect(errors).toMatchObject([{ code: 'redis_unavailable' }]);
});
