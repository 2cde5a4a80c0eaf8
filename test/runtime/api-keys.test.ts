import { inspect } from 'node:util';
import type { Redis } from 'ioredis';
import { afterAll, expect, it } from 'vitest';
import type { WorkerEvent } from '../../src/domain/events.ts';
import { WIRE_FORMATS } from '../../src/domain/raw-items.ts';
import { createLogger, logEvents } from '../../src/telemetry/logs.ts';
import { connect, PROFILE } from '../models/fixture.ts';
import { startProvider } from '../provider/provider.ts';
import { openFixture, settled } from './fixture.ts';

const KEY = 'sk-not-to-be-seen-4711';

const fixture = await openFixture();

afterAll(() => fixture.close());

/** Records every command to the database, because finished jobs are gone at the end. */
async function recordCommands(redis: Redis): Promise<{ readonly commands: string[]; stop(): void }> {
  const commands: string[] = [];
  const monitor = await redis.monitor();
  monitor.on('monitor', (_time: string, command: readonly string[]) => commands.push(command.join(' ')));
  return { commands, stop: () => monitor.disconnect() };
}

function writeLogs(events: readonly WorkerEvent[]): string {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const listen = logEvents(createLogger({ level: 'debug', destination }));
  for (const event of events) listen(event);
  return lines.join('');
}

it.each(WIRE_FORMATS)('the API key of a provider over %s is in no job, record, event, error or log', async (format) => {
  // A proxy may quote the request. OpenAI's own refusal quotes parts of the key.
  const message = `Incorrect API key provided: ${KEY}. Authorization: Bearer ${KEY}`;
  await using provider = await startProvider({
    apiKey: KEY,
    answers: [
      { text: 'Answered.' },
      { fault: 'server_error', message, retryAfterMs: 20 },
      { fault: 'unauthorized', message },
    ],
  });
  const model = connect(format, provider, { profile: { ...PROFILE, id: `model-${format}` }, apiKey: KEY });
  const database = await recordCommands(fixture.redis);
  const workers = await fixture.startWorkers({ name: 'guide', system: 'You guide.', tools: [], policy: {}, model });
  const conversation = `keys-${format}`;
  for (const turn of ['answered', 'refused']) {
    await fixture.enqueue(conversation, turn, 'Hi');
  }
  const answered = await settled(fixture, conversation, 'answered');
  const refused = await settled(fixture, conversation, 'refused');
  expect([answered, refused]).toMatchObject([{ state: 'completed' }, { state: 'failed' }]);
  await workers.close();
  for (const sign of ['Answered.', 'the API key was not accepted', '{tq0}:turn:']) {
    await expect.poll(() => database.commands.find((command) => command.includes(sign))).toBeDefined();
  }
  database.stop();
  const views = inspect([answered, refused, workers.events], { depth: null });
  const texts = [...database.commands, views, writeLogs(workers.events)];
  expect(texts.filter((text) => text.includes(KEY))).toEqual([]);
});
