import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConversationsInput, ListedConversation } from '../../../src/api/client/index.ts';
import { type Fixture, failureOf, openFixture } from '../fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const agent = 'talker';

async function listAll(input: ConversationsInput, limit = 100): Promise<ListedConversation[]> {
  const found: ListedConversation[] = [];
  let after: string | undefined;
  do {
    const page = await fixture.client.conversations({ ...input, limit, after });
    expect(page.conversations.length).toBeLessThanOrEqual(limit);
    found.push(...page.conversations);
    after = page.next;
  } while (after !== undefined);
  return found;
}

const idsOf = (found: readonly ListedConversation[]): string[] => found.map(({ conversation }) => conversation);

async function begin(conversation: string, owner: string, title?: string): Promise<void> {
  await fixture.client.enqueueTurn({ conversation, agent, input: `Hello from\n${conversation}`, owner, title });
}

test('the first turn sets the owner, and the first words of its input are the title', async () => {
  await begin('first', 'ann@example.com');
  const about = await fixture.client.describe('first');
  expect(about).toMatchObject({ agent, owner: 'ann@example.com', title: 'Hello from first' });
  expect(about.createdAt).toBeGreaterThan(1_700_000_000_000);
  expect(about.lastAt).toBeGreaterThanOrEqual(about.createdAt);
  expect(await listAll({ idContains: 'first' })).toEqual([
    expect.objectContaining({ owner: 'ann@example.com', title: 'Hello from first', createdAt: about.createdAt }),
  ]);
});

test('a long first message is cut to its first words, with at most 60 bytes', async () => {
  const { client } = fixture;
  await client.enqueueTurn({
    conversation: 'long',
    agent,
    input: `Please ${'explain the order of events '.repeat(40)}`,
  });
  expect((await client.describe('long')).title).toBe('Please explain the order of events explain the order of…');
  await client.append({ conversation: 'han', agent, messages: [{ role: 'user', content: '訂單在哪裡'.repeat(20) }] });
  const { title = '' } = await client.describe('han');
  expect(title).toMatch(/^訂單在哪裡.*…$/);
  expect(Buffer.byteLength(title)).toBeLessThanOrEqual(60);
});

test('a turn with another owner is refused, and one without an owner or with the same one is accepted', async () => {
  const { client } = fixture;
  await begin('mine', 'ann');
  await begin('mine', 'ann', 'A title that comes too late');
  await client.enqueueTurn({ conversation: 'mine', agent, input: 'and on' });
  expect(await client.describe('mine')).toMatchObject({ owner: 'ann', title: 'Hello from mine' });
  const { error } = await failureOf(() =>
    client.enqueueTurn({ conversation: 'mine', agent, input: 'x', owner: 'bob' }),
  );
  expect(error).toMatchObject({ code: 'conflict', field: 'owner' });
  const messages = [{ role: 'user' as const, content: 'x' }];
  const append = await failureOf(() => client.append({ conversation: 'mine', agent, messages, owner: 'bob' }));
  expect(append.error).toMatchObject({ code: 'conflict', field: 'owner' });
  await client.enqueueTurn({ conversation: 'nobody', agent, input: 'x' });
  const late = await failureOf(() => client.enqueueTurn({ conversation: 'nobody', agent, input: 'x', owner: 'bob' }));
  expect(late.error).toMatchObject({ code: 'conflict', field: 'owner' });
});

test('updateConversation changes what it names, and null removes a value', async () => {
  const { client } = fixture;
  await begin('named', 'ann', 'Parcel 17');
  const first = await client.updateConversation('named', { metadata: { plan: 'gold' } });
  expect(first).toEqual({
    tenant: '_',
    conversation: 'named',
    agent,
    owner: 'ann',
    title: 'Parcel 17',
    metadata: { plan: 'gold' },
    createdAt: expect.any(Number) as number,
    lastAt: expect.any(Number) as number,
  });
  expect(await client.updateConversation('named', { title: 'Parcel 18' })).toEqual({ ...first, title: 'Parcel 18' });
  const { title: _, metadata: __, ...bare } = first;
  expect(await client.updateConversation('named', { title: null, metadata: null })).toEqual(bare);
  expect((await failureOf(() => client.updateConversation('none', { title: 'x' }))).error).toMatchObject({
    code: 'not_found',
  });
  for (const change of [{}, { title: 'two\nlines' }, { owner: '' }, { title: 'x'.repeat(201) }, { color: 'red' }])
    expect((await failureOf(() => client.updateConversation('named', change))).error).toMatchObject({
      code: 'invalid_input',
    });
});

test('a list newest first has the order of the last messages, with every page size', async () => {
  const { client } = fixture;
  const ids = Array.from({ length: 30 }, (_, at) => `by-time-${at}`);
  for (const id of ids) await begin(id, 'time-owner');
  for (const id of ['by-time-3', 'by-time-20']) await client.enqueueTurn({ conversation: id, agent, input: 'again' });
  const newest = await listAll({ owner: 'time-owner' });
  expect(newest.map(({ lastAt }) => lastAt)).toEqual(newest.map(({ lastAt }) => lastAt).toSorted((a, b) => b - a));
  expect(new Set(idsOf(newest))).toEqual(new Set(ids));
  // Conversations with messages of the same millisecond are in the order of their names.
  const timeOf = new Map(newest.map(({ conversation, lastAt }) => [conversation, lastAt]));
  for (const id of ['by-time-3', 'by-time-20'])
    expect(timeOf.get(id)).toBeGreaterThanOrEqual(timeOf.get('by-time-29') ?? Infinity);
  for (const limit of [1, 7, 29, 30])
    expect(idsOf(await listAll({ owner: 'time-owner' }, limit))).toEqual(idsOf(newest));
  const all = idsOf(await listAll({ order: 'newest', idContains: 'by-time-' }, 4));
  expect(all).toEqual(idsOf(newest));
});

test('a list with a value of the metadata has only the conversations with this value, in both orders', async () => {
  const { client } = fixture;
  const ids = Array.from({ length: 12 }, (_, at) => `label-${at}`);
  for (const [at, id] of ids.entries()) {
    await begin(id, 'label-owner');
    const metadata = { third: String(at % 3), 'with space': 'a=b', ...(at === 5 && { 'quote"': '\\' }) };
    await client.updateConversation(id, { metadata });
  }
  await begin('label-none', 'label-owner');
  const wanted = new Set(ids.filter((_, at) => at % 3 === 1));
  const query = { idContains: 'label-', metadata: 'third=1' };
  for (const filter of [query, { ...query, order: 'newest' as const }, { owner: 'label-owner', metadata: 'third=1' }])
    for (const limit of [1, 3, 100]) expect(new Set(idsOf(await listAll(filter, limit)))).toEqual(wanted);
  expect(await listAll({ ...query, metadata: 'with space=a=b' })).toHaveLength(12);
  expect(idsOf(await listAll({ metadata: 'quote"=\\' }))).toEqual(['label-5']);
  for (const metadata of ['third=', 'third=11', 'none=1', '__proto__=1'])
    expect(await listAll({ metadata })).toEqual([]);
  for (const metadata of ['', 'third', '=1', `${'x'.repeat(65)}=1`])
    expect((await failureOf(() => client.conversations({ metadata }))).error).toMatchObject({
      code: 'invalid_input',
      field: 'metadata',
    });
});

test('lists of an owner have only the conversations of that owner, through changes and erases', async () => {
  const { client } = fixture;
  await begin('a1', 'alice');
  await begin('b1', 'bert');
  await begin('a2', 'alice');
  expect(idsOf(await listAll({ owner: 'alice' })).toSorted()).toEqual(['a1', 'a2']);
  await client.updateConversation('a1', { owner: 'bert' });
  expect(idsOf(await listAll({ owner: 'alice' }))).toEqual(['a2']);
  expect(new Set(idsOf(await listAll({ owner: 'bert' })))).toEqual(new Set(['a1', 'b1']));
  await client.updateConversation('b1', { owner: null });
  expect(idsOf(await listAll({ owner: 'bert' }))).toEqual(['a1']);
  expect(await client.describe('b1')).not.toHaveProperty('owner');
  await client.erase('a1');
  expect(await listAll({ owner: 'bert' })).toEqual([]);
  expect(idsOf(await listAll({ order: 'newest' }))).not.toContain('a1');
  expect(await listAll({ owner: 'alice', state: 'failed' })).toEqual([]);
  expect(idsOf(await listAll({ owner: 'alice', state: 'queued', agent }))).toEqual(['a2']);
});

test('a fork has the owner and the title of its source', async () => {
  const { client } = fixture;
  const messages = [{ role: 'user' as const, content: 'Where is it?' }];
  await client.append({ conversation: 'source', agent, messages, owner: 'carol' });
  await client.fork('source', 'copy');
  expect(await client.describe('copy')).toMatchObject({ agent, owner: 'carol', title: 'Where is it?' });
  expect(idsOf(await listAll({ owner: 'carol' })).toSorted()).toEqual(['copy', 'source']);
});

test('an owner is a text of any characters on one line, and never reaches keys of a conversation', async () => {
  const { client } = fixture;
  const owner = 'victim:t1 {x} *';
  await begin('victim', 'other');
  await begin('odd', owner);
  expect(idsOf(await listAll({ owner }))).toEqual(['odd']);
  await client.erase('victim');
  expect(idsOf(await listAll({ owner }))).toEqual(['odd']);
  expect((await failureOf(() => begin('bad', 'two\nlines'))).error).toMatchObject({
    code: 'invalid_input',
    field: 'owner',
  });
});

test('a cursor of the list by time that is no cursor is refused with its field', async () => {
  const list = () => fixture.client.conversations({ order: 'newest', after: 'nonsense' });
  expect((await failureOf(list)).error).toMatchObject({ code: 'invalid_input', field: 'after' });
  const stable = () => fixture.client.conversations({ order: 'stable', owner: 'ann' });
  expect((await failureOf(stable)).error).toMatchObject({ code: 'invalid_input', field: 'order' });
});
