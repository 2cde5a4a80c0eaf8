import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { TurnPart } from '../../src/api/client/index.ts';
import { openFixture } from './fixture.ts';
import { createPainter } from './painter.ts';

type Shown = ReadonlyMap<string, unknown>;

/** Keeps the last value of each name, as a page does. */
function show(values: Map<string, unknown>, part: TurnPart): void {
  if (part.type === 'data') values.set(part.name, part.data);
}

test.for(['safe', 'never'] as const)(
  'a page shows the same emitted values live and after a reload if a worker died in the call, retry %s',
  async (retry) => {
    const fixture = await openFixture();
    onTestFinished(() => fixture.close());
    const { client, redisUrl } = fixture;
    const script = fileURLToPath(new URL('./painting-worker.ts', import.meta.url));
    const victim = spawn(process.execPath, [script, redisUrl, retry], { stdio: 'inherit' });
    onTestFinished(() => void victim.kill('SIGKILL'));
    await client.enqueueTurn({ conversation: 'c1', agent: 'painter', turn: 't1', input: 'go' });
    const live = new Map<string, unknown>();
    for await (const part of client.stream('c1', 't1')) {
      show(live, part);
      if (live.size !== 2 || victim.killed) continue;
      victim.kill('SIGKILL');
      const paint = createPainter(async ({ emit }) => {
        emit('palette', ['blue']);
        return 'done';
      }, retry);
      await fixture.startWorkers(paint);
    }
    const palette = retry === 'safe' ? ['blue'] : ['red'];
    const expected: Shown = new Map<string, unknown>([
      ['sketch', { lines: 2 }],
      ['palette', palette],
    ]);
    expect(live).toEqual(expected);
    const late = new Map<string, unknown>();
    for await (const part of client.stream('c1', 't1')) show(late, part);
    expect(late).toEqual(expected);
    const log = await client.log('c1');
    expect(log[2]?.message.content).toMatch(retry === 'safe' ? /^done$/ : /^outcome_unknown/);
  },
);
