import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTalker, type Fixture, makeVersions, openFixture, talk } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([{ ...createTalker(), policy: { retentionWindow: 2, maxTokens: 2_000 } }]);
});
afterAll(() => fixture.close());

const agent = 'talker';

test('the context of a conversation without compaction is its log', async () => {
  await fixture.client.append({ conversation: 'young', agent, messages: talk(2) });
  const view = await fixture.client.context('young');
  expect(view).toMatchObject({ conversation: 'young', version: 0, head: 6 });
  expect(view.items.map(({ message }) => message)).toStrictEqual(
    (await fixture.client.log('young')).map(({ message }) => message),
  );
  expect(view.tokens).toBe(view.items.reduce((sum, { tokens }) => sum + tokens, 3));
  expect(await fixture.client.versions('young')).toStrictEqual([]);
  expect(await fixture.client.show('young', 0)).toStrictEqual(view);
});

test('workers compact a conversation when appended messages exceed the threshold, without a call of compact', async () => {
  await fixture.client.append({ conversation: 'grown', agent, messages: talk(100) });
  await expect
    .poll(async () => (await fixture.client.versions('grown')).length, { timeout: 60_000 })
    .toBeGreaterThan(0);
  const [version] = await fixture.client.versions('grown');
  expect(version?.reasons).not.toContain('manual');
});

describe('a conversation with versions', () => {
  const conversation = 'old';
  beforeAll(async () => {
    await makeVersions(fixture, conversation);
  });

  test('client.versions lists the kept versions of a context, oldest first', async () => {
    const versions = await fixture.client.versions(conversation);
    expect(versions.map(({ number, parent, base }) => [number, parent, base])).toStrictEqual([
      [1, 0, 24],
      [2, 1, 48],
    ]);
    for (const version of versions) {
      expect(version.reasons).toContain('manual');
      expect(version.tokensAfter).toBeLessThan(version.tokensBefore);
      expect(version.archived).toBeGreaterThan(0);
    }
  });

  test('context returns the live version and the newer messages', async () => {
    const view = await fixture.client.context(conversation);
    expect(view).toMatchObject({ version: 2, head: 49 });
    expect(view.items.at(-1)?.message.content).toBe('the last');
    expect(view.items.some(({ message }) => message.role === 'summary')).toBe(true);
    const live = (await fixture.client.versions(conversation)).at(-1);
    expect(view.tokens).toBeLessThan(live?.tokensBefore ?? 0);
  });

  test('show returns the context of a version at the moment the version was made', async () => {
    const first = await fixture.client.show(conversation, 1);
    expect(first).toMatchObject({ version: 1, head: 24 });
    expect(first.items.at(-1)?.to).toBe(24);
    expect(await fixture.client.context(conversation, { version: 1, head: 24 })).toStrictEqual(first);
  });

  test('context returns a version followed by the log up to any later message, and refuses other message numbers', async () => {
    const view = await fixture.client.context(conversation, { version: 1, head: 30 });
    expect(view).toMatchObject({ version: 1, head: 30 });
    expect(view.items.slice(-6).map(({ from }) => from)).toStrictEqual([25, 26, 27, 28, 29, 30]);
    for (const head of [23, 50]) {
      await expect(fixture.client.context(conversation, { version: 1, head })).rejects.toMatchObject({
        code: 'invalid_input',
        field: 'head',
      });
    }
  });

  test('diff returns the replaced messages between two versions', async () => {
    const changes = await fixture.client.diff(conversation, 0, 1);
    expect(changes.length).toBeGreaterThan(0);
    expect(await fixture.client.diff(conversation, 1, 1)).toStrictEqual([]);
  });

  test('log returns all messages of a conversation, including those that compaction removed from the context', async () => {
    const log = await fixture.client.log(conversation);
    expect(log.map(({ seq }) => seq)).toStrictEqual(Array.from({ length: 49 }, (_, index) => index + 1));
    expect(log[1]?.message.content).toBe(talk(1)[1]?.content);
  });

  test('a turn after a compaction sends the compacted context to the model', async () => {
    const { turn } = await fixture.client.enqueueTurn({ conversation, agent, input: 'hello' });
    const view = await fixture.client.result(conversation, turn, { waitMs: 60_000 });
    expect(view.answer?.content).toBe('heard hello');
    const live = (await fixture.client.versions(conversation)).at(-1);
    expect(view.requestTokens[0]).toBeLessThan(live?.tokensBefore ?? 0);
  });

  test.each<[string, string, { version?: number; head?: number }]>([
    ['not_found', 'version', { version: 7 }],
    ['invalid_input', 'version', { version: -1 }],
    ['invalid_input', 'version', { version: 1.5 }],
    ['invalid_input', 'head', { head: Number.NaN }],
  ])('context fails with %s and the error names the field %s', async (code, field, at) => {
    await expect(fixture.client.context(conversation, at)).rejects.toMatchObject({ code, field });
  });

  test('show and diff fail with not_found for a version that never existed', async () => {
    const { client } = fixture;
    const calls = [
      [() => client.show(conversation, 7), 'version'],
      [() => client.diff(conversation, 1, 7), 'after'],
      [() => client.diff(conversation, 7, 1), 'before'],
    ] as const;
    for (const [call, field] of calls) await expect(call()).rejects.toMatchObject({ code: 'not_found', field });
  });
});

test('reads and compaction requests of an unknown conversation fail with not_found', async () => {
  const { client } = fixture;
  const calls: (() => Promise<unknown>)[] = [
    () => client.context('nobody'),
    () => client.context('nobody', { version: 1 }),
    () => client.show('nobody', 1),
    () => client.versions('nobody'),
    () => client.diff('nobody', 0, 1),
    () => client.log('nobody'),
    () => client.describe('nobody'),
    () => client.compact('nobody'),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
});
