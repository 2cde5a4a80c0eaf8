import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { EventLoopMonitor } from '../../src/host/health/event-loop-monitor.ts';
import { LoopBeat } from '../../src/host/health/loop-beat.ts';

function open() {
  const monitor = new EventLoopMonitor();
  onTestFinished(() => monitor.stop());
  return monitor;
}

function hold(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('the event-loop monitor names the tool whose own code blocked the event loop', async () => {
  const monitor = open();
  const idle = monitor.runTool('idle', () => new Promise<void>((resolve) => setTimeout(resolve, 1_600)));
  const beat = new LoopBeat(monitor.beat.memory);
  const seen = await monitor.runTool('scan', () => {
    hold(1_300);
    return beat.cause;
  });
  expect(seen).toBe('by the tool "scan"');
  expect(monitor.longestWithin(60_000)?.cause).toBe('by the tool "scan"');
  expect(monitor.longestWithin(60_000)?.ms).toBeGreaterThan(900);
  expect(beat.cause).toBe('while the tool "idle" ran');
  await idle;
  expect(beat.cause).toBe('');
});

test('the event-loop monitor names all running tools if a tool blocks the event loop after its first await', async () => {
  const monitor = open();
  await Promise.all([
    monitor.runTool('later', async () => {
      await turn();
      hold(1_300);
    }),
    monitor.runTool('other', () => turn()),
  ]);
  expect(monitor.longestWithin(60_000)?.cause).toMatch(/^while the tools? .*"later".* ran$/);
});

test('the event-loop monitor names no cause for a block without a tool, and forgets the block after the given time', async () => {
  const monitor = open();
  hold(1_300);
  expect(monitor.longestWithin(60_000)?.cause).toBe('');
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(monitor.longestWithin(10)).toBeUndefined();
});
