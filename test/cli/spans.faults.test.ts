import { readFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/api/client/index.ts';
import { openHeldModel } from './held-model.ts';
import { openOwnRedis } from './own-redis.ts';
import { readJsonLines, writeTemporary } from './run-turnfold.ts';
import { startWorkerProcess } from './worker-process.ts';

const SDK = import.meta.resolve('@opentelemetry/sdk-trace-node');

/**
 * Starts a worker under an OpenTelemetry SDK whose batches only a flush sends. The worker answers one turn and stops.
 * @param done Callback of the exporter after it took its spans.
 */
async function traceOneTurn(done: string): Promise<{ code: number | null; spans: unknown[] }> {
  const spans = await writeTemporary('spans.jsonl', '');
  const tracing = await writeTemporary(
    'tracing.mjs',
    `import { appendFileSync } from 'node:fs';
     import { BatchSpanProcessor, NodeTracerProvider } from '${SDK}';
     const exporter = {
       export(batch, done) {
         for (const { name } of batch) appendFileSync('${spans}', JSON.stringify({ name }) + '\\n');
         ${done};
       },
       shutdown: async () => undefined,
     };
     const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 3_600_000 });
     new NodeTracerProvider({ spanProcessors: [processor] }).register();`,
  );
  const redis = await openOwnRedis();
  const model = await openHeldModel();
  model.release();
  const env = { REDIS_URL: redis.url, NODE_OPTIONS: `--import ${tracing}` };
  const worker = startWorkerProcess(env, model.agents);
  const client = await openClient({ redisUrl: redis.url });
  onTestFinished(() => client.close());
  const { turn } = await client.enqueueTurn({ conversation: 'c1', agent: 'held', input: 'hello' });
  await client.result('c1', turn, { waitMs: 60_000 });
  const code = await worker.stop();
  return { code, spans: readJsonLines(await readFile(spans, 'utf8')).map(({ name }) => name) };
}

test('a worker that stops sends its last trace spans before it exits', async () => {
  const { code, spans } = await traceOneTurn('done({ code: 0 })');
  expect(code).toBe(0);
  expect(spans).toEqual(expect.arrayContaining(['invoke_agent held']));
});

test('a worker exits with 0 even if its span exporter never reports completion', async () => {
  expect(await traceOneTurn('')).toMatchObject({ code: 0 });
});
