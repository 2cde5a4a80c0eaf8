import { afterAll, beforeAll, expect, test } from 'vitest';
import { START_VERSION } from '../../src/domain/version.ts';
import { appendLog } from '../../src/store/log.ts';
import { openStore } from '../../src/store/open-store.ts';
import { bindScript } from '../../src/store/script.ts';
import { acceptTurnScript } from '../../src/store/turn-intake.ts';
import { openSuiteRedis, type SuiteRedis } from './open-redis.ts';
import { appendOf, makeConversation } from './pass-samples.ts';
import { newConversation, turnFor } from './samples.ts';

let suite: SuiteRedis;
beforeAll(() => {
  suite = openSuiteRedis();
});
afterAll(() => suite.close());

/** A program of schema 1 that was started before the database was raised goes on with its own scripts. It knows no forks. */
test('a program of schema 1 that still runs takes a fork for another agent’s until it is done', async () => {
  const { redis, keyspace } = suite;
  const store = openStore(redis, keyspace);
  const accept = bindScript(redis, { ...acceptTurnScript(keyspace), file: '../../../test/store/schema-1/accept-turn' });
  const append = bindScript(redis, { ...appendLog(keyspace), file: '../../../test/store/schema-1/append-log' });
  const source = await makeConversation(store, 2);
  const conversation = newConversation();
  const plan = { source, version: 0, head: 2 };
  await store.beginFork({ conversation, operation: 'op', agent: 'agent', plan });
  const entries = await store.readLog(source, [{ from: 1, to: 2 }]);
  const texts = { summaries: new Map(), whole: new Map() };
  await store.copyToFork(conversation, 'op', { expectedHead: 0, entries, opens: [], closes: [], texts });
  const before = await store.readConversation(conversation);
  const refused = { status: 'other_agent', agent: 'nobody yet' };
  expect(await accept(turnFor(conversation, 't1'))).toEqual(refused);
  expect(await append(appendOf(conversation, 2, 1))).toEqual(refused);
  expect(await store.readConversation(conversation)).toEqual(before);

  await store.endFork(conversation, 'op', { ...START_VERSION, number: 1, parent: 0, cause: 'fork' });
  expect(await accept(turnFor(conversation, 't1'))).toMatchObject({ status: 'accepted' });
});
