import { randomBytes } from 'node:crypto';
import type { StartedTestContainer } from 'testcontainers';
import { identifyServer, withConnection } from './connection.ts';
import { describeCause, SourceUnavailableError } from './errors.ts';
import type { LocalRedis, SourceRequest } from './local-redis.ts';

const REDIS_PORT = 6379;
const ENGINE_TIMEOUT_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;
/** Time limit in ms for pulling the image and starting the container. A blocked registry may never answer. */
const START_TIMEOUT_MS = 120_000;

/**
 * Starts Redis in a container. Testcontainers removes the container some seconds after this process ends, however it
 * ends. The Redis has a password, because testcontainers publishes ports on every network interface of the host.
 */
export async function startInContainer(request: SourceRequest): Promise<LocalRedis> {
  const { GenericContainer, Wait, getContainerRuntimeClient } = await importTestcontainers();
  await within(ENGINE_TIMEOUT_MS, getContainerRuntimeClient()).catch((error: unknown) => {
    throw new SourceUnavailableError(`no container engine such as Docker answers (${describeCause(error)})`);
  });
  request.signal.throwIfAborted();
  const isReaped = request.env['TESTCONTAINERS_RYUK_DISABLED'] !== 'true';
  const limit = isReaped ? '' : ' (the cleanup of testcontainers is off, so the container outlives a killed process)';
  request.log(`starting ${request.image} in a container${limit}`);
  const password = randomBytes(24).toString('hex');
  const starting = new GenericContainer(request.image)
    .withCommand(['redis-server', ...request.serverArgs, '--requirepass', password])
    .withExposedPorts(REDIS_PORT)
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/i))
    .start();
  const container = await within(START_TIMEOUT_MS, starting, request.signal).catch((error: unknown) => {
    void starting.then(remove, () => undefined); // If the container starts after the timeout, it is removed again.
    request.signal.throwIfAborted();
    throw new SourceUnavailableError(`${request.image} did not start: ${describeCause(error)}`);
  });
  return describeContainer(container, password, request.image);
}

async function describeContainer(
  container: StartedTestContainer,
  password: string,
  image: string,
): Promise<LocalRedis> {
  const port = container.getMappedPort(REDIS_PORT);
  const url = `redis://:${password}@${container.getHost()}:${port}`;
  try {
    const server = await withConnection({ url }, ANSWER_TIMEOUT_MS, identifyServer);
    return {
      url,
      source: 'container',
      description: `${server.name} ${server.version} in a container of ${image}, port ${port}`,
      stop: () => remove(container),
    };
  } catch (error) {
    await remove(container);
    throw new SourceUnavailableError(`the container of ${image} does not answer: ${describeCause(error)}`);
  }
}

async function remove(container: StartedTestContainer): Promise<void> {
  await container.stop({ remove: true, removeVolumes: true, timeout: 0 });
}

/**
 * Imports testcontainers only when it is needed. The import takes 0.3 s, and the package is a development dependency
 * that an installed turnfold lacks.
 */
async function importTestcontainers(): Promise<typeof import('testcontainers')> {
  try {
    return await import('testcontainers');
  } catch (error) {
    throw new SourceUnavailableError(`testcontainers is not installed (${describeCause(error)})`);
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>, signal?: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
