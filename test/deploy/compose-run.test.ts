import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openClient } from '../../src/client/index.ts';
import { openCompose } from './compose-engine.ts';

const RUN_MS = 600_000;
const LOOK_MS = 500;
const HEALTHY_MS = 60_000;
/** two scrapes and a look for addresses */
const SEEN_MS = 60_000;
const CONVERSATIONS = 50;
/** so that passes come to be wanted: each reads some 700 tokens of the 8,000 that the agent has */
const TURNS_EACH = 20;

const images = [
  ...[...read('docker-compose.yml').matchAll(/^\s+image: (\S+)$/gm)].flatMap(([, image = '']) =>
    image.startsWith('turnfold') ? [] : [image],
  ),
  /^ARG NODE_IMAGE=(.*)$/m.exec(read('Dockerfile'))?.[1] ?? '',
];

test(
  'docker-compose.yml: all of it starts, a killed worker is seen and every turn is completed (skipped without a Docker engine)',
  async ({ skip }) => {
    const compose = await openCompose(images);
    if (typeof compose === 'string') return skip(compose);
    onTestFinished(() => compose.down());
    await compose.build();
    await compose.up('--scale', 'turn-worker=3');
    const crew = [
      ...(await compose.list('turn-worker')),
      ...(await compose.list('compaction-worker')),
      ...(await compose.list('summarization-worker')),
    ];
    expect(crew).toHaveLength(5);
    const others = [...(await compose.list('redis')), ...(await compose.list('prometheus'))];
    const watched = compose.hasGrafana ? [...others, ...(await compose.list('grafana'))] : others;
    for (const container of [...crew, ...watched]) {
      await until(`${container} is healthy`, HEALTHY_MS, async () => {
        return (await compose.inspect(container)).State.Health?.Status === 'healthy';
      });
    }
    const ask = await openPrometheus(await compose.findAddress('prometheus', 9090));
    await until('Prometheus has found 5 workers', SEEN_MS, async () => (await ask('sum(up{job="turnfold"})')) === 5);

    const client = await openClient({ redisUrl: `redis://${await compose.findAddress('redis', 6379)}` });
    onTestFinished(() => client.close());
    const sent = Array.from({ length: CONVERSATIONS * TURNS_EACH }, (_, index) => ({
      conversation: `c-${index % CONVERSATIONS}`,
      agent: 'workspace',
      input: 'read package.json',
    }));
    const [victim = ''] = await compose.list('turn-worker');
    const accepted = [];
    for (const [index, turn] of sent.entries()) {
      accepted.push(await client.enqueueTurn(turn));
      if (index === sent.length / 2) await compose.docker('kill', victim);
    }
    const views = await Promise.all(
      accepted.map(({ conversation, turn }) => client.result(conversation, turn, { waitMs: 120_000 })),
    );
    expect(views.filter(({ state }) => state !== 'completed')).toEqual([]);

    await until('Prometheus misses one', SEEN_MS, async () => (await ask('sum(up{job="turnfold"})')) === 4);
    await compose.up('--scale', 'turn-worker=3');
    await until('and sees it again', SEEN_MS, async () => (await ask('sum(up{job="turnfold"})')) === 5);
    for (const query of [
      'sum(turnfold_turns_total{outcome="completed"})',
      'sum(turnfold_tool_calls_total)',
      'sum(turnfold_passes_total{outcome="committed"})',
      'max(turnfold_redis_memory_ratio)', // of the shared state: one worker shows it, whichever
    ]) {
      await until(query, SEEN_MS, async () => ((await ask(query)) ?? 0) > 0);
    }
    const [stopped = ''] = await compose.list('turn-worker');
    await compose.docker('stop', stopped);
    expect((await compose.inspect(stopped)).State.ExitCode, 'a worker that is told to stop ends by itself').toBe(0);
  },
  RUN_MS,
);

const answerSchema = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});

/** Asks for one number; undefined where there is none. */
async function openPrometheus(address: string): Promise<(query: string) => Promise<number | undefined>> {
  return async (query) => {
    const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`);
    const [first] = answerSchema.parse(await response.json()).data.result;
    return first === undefined ? undefined : Number(first.value[1]);
  };
}

async function until(what: string, limitMs: number, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(LOOK_MS);
  }
}

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}
