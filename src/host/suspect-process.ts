// Entry point of the child process that runs one suspect. A thread watches the parent process, and ends the child if
// the parent dies while the turn blocks the event loop.
import { isMainThread, Worker, workerData } from 'node:worker_threads';

const CHECK_MS = 1_000;
/** Meanwhile a process that is not blocked hands its turn back. */
const ORPHAN_CHECKS = 5;

if (isMainThread) {
  // The thread must not load what the worker loads in advance, e.g. an OpenTelemetry SDK.
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
