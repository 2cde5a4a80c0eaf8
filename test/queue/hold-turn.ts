// The tests start this file as a process. It takes one wake, prints that it has, and never ends its job.
import { once } from 'node:events';
import { openQueueWorkers } from '../../src/jobs/bullmq/queue-workers.ts';

const [url = '', prefix = ''] = process.argv.slice(2);
const handler = async (): Promise<never> => {
  process.stdout.write('taken\n');
  await once(process, 'never');
  throw new Error('the process ended otherwise');
};
const workers = openQueueWorkers({
  url,
  prefix,
  shards: 1,
  roles: { turn: { handler, concurrency: 1 } },
  onError: (error) => process.stderr.write(`${String(error)}\n`),
  deadlineMs: 1_000,
});
await workers.start();
