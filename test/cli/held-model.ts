import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { writeTemporary } from './run-turnfold.ts';

const SOURCE = new URL('../../src', import.meta.url).pathname;

/** A provider that answers no call before the test says so, and the module of an agent that asks it. */
export interface HeldModel {
  readonly agents: string;
  /** calls that came in so far */
  readonly calls: () => number;
  /** resolves when so many calls have come in */
  readonly untilCalled: (count: number) => Promise<void>;
  /** answers what is held, and from now on at once */
  readonly release: () => void;
}

export async function openHeldModel(): Promise<HeldModel> {
  const held: ServerResponse[] = [];
  let calls = 0;
  let isReleased = false;
  const server = createServer((_, response) => {
    calls += 1;
    if (isReleased) response.end('ok');
    else held.push(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const agents = await writeTemporary(
    'agents.ts',
    `import { scriptedModel } from '${SOURCE}/providers/scripted.ts';
     const ask = async () => ({ content: await (await fetch('http://127.0.0.1:${port}/')).text() });
     export const agents = [{ name: 'held', system: '', tools: [], policy: {}, model: scriptedModel({ decide: ask }) }];`,
  );
  return {
    agents,
    calls: () => calls,
    untilCalled: async (count) => {
      await expect.poll(() => calls, { timeout: 60_000, interval: 20 }).toBe(count);
    },
    release() {
      isReleased = true;
      for (const response of held.splice(0)) response.end('ok');
    },
  };
}
