/**
 * For a container's health check: exits with 0 where the worker's page says that the process is alive. The image has no
 * curl. Not /ready: a Redis that is away is not cured by another worker.
 */
const port = process.env.TURNFOLD_METRICS_PORT || '9464';
const isAlive = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(4_000) }).then(
  (response) => response.ok,
  () => false,
);
process.exit(isAlive ? 0 : 1);
