import { expect, onTestFinished, test, vi } from 'vitest';
import { provideRedis } from '../../src/host/local-redis/provide-redis.ts';
import { listenSilently } from './fixture.ts';

// In a file, and so a process, of its own: testcontainers keeps an engine that it has found.
test('provideRedis stops waiting for a container engine that does not answer', async () => {
  vi.stubEnv('DOCKER_HOST', `tcp://127.0.0.1:${await listenSilently()}`);
  onTestFinished(() => void vi.unstubAllEnvs());

  await expect(provideRedis({ sources: ['container'] })).rejects.toMatchObject({
    code: 'redis_unavailable',
    message: expect.stringContaining('no container engine such as Docker answers (no answer within 2000 ms)'),
  });
});
