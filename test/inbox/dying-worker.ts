// The tests start this file as a process. It takes one job of the inbox, prints that it has, and never ends the job. With
// `accepted` it accepts the turn of the job before.
import { once } from 'node:events';
import { openClient } from '../../src/api/client/index.ts';
import { readTurnJob } from '../../src/api/inbox/turn-job.ts';
import { openQueueWorkers } from '../../src/jobs/bullmq/queue-workers.ts';

const [url = '', shards, until] = process.argv.slice(2);
const client = await openClient({ redisUrl: url, shards: Number(shards) });
const workers = openQueueWorkers({
  url,
  shards: 1,
  roles: {
    inbox: {
      concurrency: 1,
      handler: async (job) => {
        if (until === 'accepted') await client.enqueueTurn(readTurnJob(job));
        process.stdout.write('taken\n');
        await once(process, 'never');
        throw new Error('the process ended otherwise');
      },
    },
  },
  onError: (error) => process.stderr.write(`${String(error)}\n`),
  deadlineMs: 1_000,
});
await workers.start();
