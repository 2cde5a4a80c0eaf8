// Entry point of the child process that runs one suspect (a turn whose workers died twice). A thread watches the parent
// process. If the parent dies while the turn blocks the event loop, the thread ends the child.
import { isMainThread, Worker, workerData } from 'node:worker_threads';

const CHECK_MS = 1_000;
/**
 * Number of checks from the parent's death until the thread ends the child. A child that is not blocked hands its turn
 * back first.
 */
const ORPHAN_CHECKS = 5;

if (isMainThread) {
  // The thread must not load modules that the worker preloads, such as an OpenTelemetry SDK.
  new Worker(new URL(import.meta.url), { workerData: process.ppid, execArgv: [], env: {} }).unref();
  const { serveSuspect } = await import('./suspect-service.ts');
  serveSuspect();
} else {
  let orphanChecks = 0;
  setInterval(() => {
    if (process.ppid !== workerData) orphanChecks += 1;
    if (orphanChecks === ORPHAN_CHECKS) process.kill(process.pid, 'SIGKILL');
  }, CHECK_MS);
}
