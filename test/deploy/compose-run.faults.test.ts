import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openClient } from '../../src/api/client/index.ts';
import { openCompose } from './compose-engine.ts';
import { ALERTS } from './rule-files.ts';

const RUN_MS = 600_000;
const LOOK_MS = 500;
const HEALTHY_MS = 60_000;
/** two scrapes and a look for addresses */
const SEEN_MS = 60_000;
/** that, behind a lock that lapses, the check that finds its job, and an evaluation of the rules */
const LOST_MS = 120_000;
const CONVERSATIONS = 50;
/** so that passes come to be wanted: each reads some 700 tokens of the 8,000 that the agent has */
const TURNS_EACH = 20;

const ADDRESS = '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}';
const LOST = `(${ALERTS.find(({ alert }) => alert === 'TurnfoldWorkersLost')?.expr})`;
const TURN_ROLE = 'job_role:turnfold_worker_concurrency:sum{role="turn"}';

const images = [
  ...[...read('docker-compose.yml').matchAll(/^\s+image: (\S+)$/gm)].flatMap(([, image = '']) =>
    image.startsWith('turnfold') ? [] : [image],
  ),
  /^ARG NODE_IMAGE=(.*)$/m.exec(read('Dockerfile'))?.[1] ?? '',
];

test(
  'docker-compose.yml starts, notices a killed worker and completes every turn (skipped without a Docker engine)',
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
    const others = ['redis', 'prometheus', 'alertmanager', ...(compose.hasGrafana ? ['grafana'] : [])];
    const watched = await Promise.all(others.map((service) => compose.list(service)));
    for (const container of [...crew, ...watched.flat()]) {
      await until(`${container} is healthy`, HEALTHY_MS, async () => {
        return (await compose.inspect(container)).State.Health?.Status === 'healthy';
      });
    }
    const doctor = await compose.docker('exec', crew[0] ?? '', 'turnfold', 'doctor');
    expect(doctor).toMatch(/^ok +turn workers +3 connected$/m);
    const prometheus = await compose.findAddress('prometheus', 9090);
    expect(await listAlertmanagers(prometheus)).toEqual(['http://alertmanager:9093/api/v2/alerts']);
    const ask = openPrometheus(prometheus);
    const answering = 'count(up{job="turnfold"} == 1)';
    await until('Prometheus has found 5 workers', SEEN_MS, async () => (await ask(answering)) === 5);

    const client = await openClient({ redisUrl: `redis://${await compose.findAddress('redis', 6379)}` });
    onTestFinished(() => client.close());
    const sent = Array.from({ length: CONVERSATIONS * TURNS_EACH }, (_, index) => ({
      conversation: `c-${index % CONVERSATIONS}`,
      agent: 'workspace',
      input: 'read package.json',
    }));
    const [victim = ''] = await compose.list('turn-worker');
    const address = await compose.docker('inspect', '--format', ADDRESS, victim);
    const enqueueAll = (turns: typeof sent) => Promise.all(turns.map((turn) => client.enqueueTurn(turn)));
    const first = await enqueueAll(sent.slice(0, sent.length / 2));
    // Amid turns: of a worker that is killed while it holds nothing, nothing is left to be seen.
    const [rest] = await Promise.all([enqueueAll(sent.slice(sent.length / 2)), compose.docker('kill', victim)]);
    const accepted = [...first, ...rest];
    const views = await Promise.all(
      accepted.map(({ conversation, turn }) => client.result(conversation, turn, { waitMs: 120_000 })),
    );
    expect(views.filter(({ state }) => state !== 'completed')).toEqual([]);

    const hasLost = async (): Promise<boolean> => (await ask(`${LOST} and on (role) ${TURN_ROLE}`)) !== undefined;
    await until(
      'Prometheus no longer lists the killed worker',
      SEEN_MS,
      async () => (await ask(`up{instance="${address}:9464"}`)) === undefined,
    );
    expect(await ask(answering)).toBe(4);
    await until('Prometheus reports the loss of a turn worker', LOST_MS, hasLost);
    await compose.up('--scale', 'turn-worker=3');
    await until('Prometheus has found 5 again', SEEN_MS, async () => (await ask(answering)) === 5);
    await until('Prometheus reports no loss any more', SEEN_MS, async () => !(await hasLost()));
    for (const query of [
      'sum(turnfold_turns_total{outcome="completed"})',
      'sum(turnfold_tool_calls_total)',
      'sum(turnfold_passes_total{outcome="committed"})',
      'max(turnfold_redis_memory_ratio)', // One worker shows the shared state.
    ]) {
      await until(query, SEEN_MS, async () => ((await ask(query)) ?? 0) > 0);
    }
    const [stopped = ''] = await compose.list('turn-worker');
    await compose.docker('stop', stopped);
    expect((await compose.inspect(stopped)).State.ExitCode, 'a worker that receives SIGTERM exits by itself').toBe(0);
  },
  RUN_MS,
);

const answerSchema = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});

/** Queries one number. Undefined without a series. */
function openPrometheus(address: string): (query: string) => Promise<number | undefined> {
  return async (query) => {
    const response = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`);
    const [first] = answerSchema.parse(await response.json()).data.result;
    return first === undefined ? undefined : Number(first.value[1]);
  };
}

const alertmanagersSchema = z.object({
  data: z.object({ activeAlertmanagers: z.array(z.object({ url: z.string() })) }),
});

async function listAlertmanagers(prometheus: string): Promise<string[]> {
  const answer: unknown = await (await fetch(`http://${prometheus}/api/v1/alertmanagers`)).json();
  return alertmanagersSchema.parse(answer).data.activeAlertmanagers.map(({ url }) => url);
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
