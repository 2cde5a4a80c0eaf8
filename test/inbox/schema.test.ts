import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { describeTurnJob, readTurnJob } from '../../src/api/inbox/turn-job.ts';

test('the published JSON Schema of an inbox job equals the schema that validates the job', async () => {
  const file = new URL('../../docs/reference/inbox-turn.schema.json', import.meta.url);
  const published: unknown = JSON.parse(await readFile(file, 'utf8'));
  expect(published, 'run `node scripts/write-inbox-schema.ts`').toEqual(describeTurnJob());
});

test('an inbox job whose id is not a valid turn id gets a hash of its id as turn id', () => {
  const job = { name: 'turn', addedAt: 7, data: { conversation: 'c', agent: 'a', input: 'x' } };
  const turnOf = (id: string): string | undefined => readTurnJob({ ...job, id }).turn;
  expect(turnOf('12')).toBe('inbox-12-7');
  expect(turnOf('order-1')).toBe('inbox-order-1');
  for (const id of ['order 1', 'ü', 'x'.repeat(101)]) expect(turnOf(id)).toMatch(/^inbox-[0-9a-f]{64}$/);
});
