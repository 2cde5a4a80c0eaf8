import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { openBenchRedis } from './redis.ts';
const redis = await openBenchRedis();
const admin = new Redis(redis.url);
const cpu = async () => { const i = await admin.info('cpu'); const f = (n: string) => Number(new RegExp(`${n}:([\\d.]+)`).exec(i)![1]); return f('used_cpu_user') + f('used_cpu_sys'); };
const N = 3000;
async function run(name: string, metrics: boolean) {
  const url = new URL(redis.url);
  const connection = { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
  const queue = new Queue(name, { connection });
  await queue.addBulk(Array.from({ length: N }, (_, i) => ({ name: 'j', data: {}, opts: { removeOnComplete: true } })));
  const c0 = await cpu(); const p0 = process.cpuUsage(); let done = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const worker = new Worker(name, async () => { if (++done === N) resolve(); }, { connection, concurrency: 50, ...(metrics && { metrics: { maxDataPoints: 60 } }) });
  await promise; 
  const p = process.cpuUsage(p0); const c = (await cpu()) - c0;
  await worker.close(); await queue.close();
  return { redisUs: (c / N) * 1e6, nodeUs: (p.user + p.system) / N };
}
await run('warm', true);
for (let i = 0; i < 14; i++) for (const m of i % 2 ? [true, false] : [false, true]) { const r = await run(`q${i}${m}`, m); console.log(m ? 'metrics' : 'plain  ', r.redisUs.toFixed(1), r.nodeUs.toFixed(1)); }
admin.disconnect(); await redis.stop(); process.exit(0);
