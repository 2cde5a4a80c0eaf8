import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTalker, type Fixture, makeVersions, openFixture, talk } from '../fixture.ts';

const agent = 'talker';
const conversation = 'kept';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
  await fixture.startWorkers([{ ...createTalker(), policy: { retentionWindow: 2, maxTokens: 2_000 } }]);
  await makeVersions(fixture, conversation);
});
afterAll(() => fixture.close());

describe('outline', () => {
  test('the pages of an outline together list every message of the log, with its size and the start of its text', async () => {
    const { client } = fixture;
    const seqs: number[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await client.outline(conversation, { after, limit: 20 });
      expect(page).toMatchObject({ version: 2, head: 49 });
      expect(page.entries.length).toBeLessThanOrEqual(20);
      seqs.push(...page.entries.map(({ seq }) => seq));
      after = page.next;
    }
    const log = await client.log(conversation);
    expect(seqs).toStrictEqual(log.map(({ seq }) => seq));
    const { entries } = await client.outline(conversation, { limit: 2_000 });
    expect(entries.map(({ tokens, bytes, at }) => [tokens, bytes, at])).toStrictEqual(
      log.map(({ tokens, bytes, at }) => [tokens, bytes, at]),
    );
    expect(entries[0]).toMatchObject({ role: 'user', start: 'question 1' });
  });

  test('outline shows the state of each message in a version of the context, and the version that changed this state', async () => {
    const { client } = fixture;
    const { entries } = await client.outline(conversation, { limit: 100 });
    const context = await client.context(conversation);
    const live = new Set(context.items.filter(({ message }) => message.role !== 'summary').map(({ from }) => from));
    for (const { seq, state, by } of entries) {
      expect(live.has(seq), `message ${seq} is ${state}`).toBe(state !== 'archived' && state !== 'summarized');
      expect(by === undefined).toBe(state === 'live');
    }
    const first = await client.outline(conversation, { limit: 100, version: 1 });
    const earlier = first.entries.filter(({ state }) => state !== 'live');
    expect(earlier.length).toBeGreaterThan(0);
    for (const { seq, by } of earlier) expect([seq <= 24, by]).toStrictEqual([true, 1]);
    const whole = await client.outline(conversation, { limit: 100, version: 0 });
    expect(new Set(whole.entries.map(({ state }) => state))).toStrictEqual(new Set(['live']));
  });

  test('outline fails for an unknown conversation or version and an invalid limit, and the error names the field', async () => {
    const { client } = fixture;
    await expect(client.outline('none')).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
    await expect(client.outline(conversation, { version: 9 })).rejects.toMatchObject({
      code: 'not_found',
      field: 'version',
    });
    await expect(client.outline(conversation, { limit: 2_001 })).rejects.toMatchObject({
      code: 'invalid_input',
      field: 'limit',
    });
    const behind = await client.outline(conversation, { after: 1_000 });
    expect(behind.entries).toStrictEqual([]);
    expect(behind).not.toHaveProperty('next');
  });
});

describe('breakdown', () => {
  test('the categories and the framing of a breakdown add up to the tokens of a request', async () => {
    const { window, categories, thresholds, cost } = await fixture.client.breakdown(conversation);
    const sum = categories.reduce((all, { tokens }) => all + tokens, 3);
    expect(window.usedTokens).toBe(sum);
    const context = await fixture.client.context(conversation);
    const fixed = categories.filter(({ name }) => name === 'system' || name === 'tools' || name === 'pins');
    expect(sum - fixed.reduce((all, { tokens }) => all + tokens, 0)).toBe(context.tokens);
    expect(categories.find(({ name }) => name === 'summaries')?.tokens).toBeGreaterThan(0);
    // No worker called a model for this conversation, so nothing about its window is known.
    expect(window).not.toHaveProperty('maxTokens');
    expect(thresholds).toStrictEqual([]);
    expect(cost).toStrictEqual({ inputTokens: 0, cachedTokens: 0, outputTokens: 0 });
  });

  test('after a model call, a breakdown shows the window, the thresholds and the fixed sizes, and the usage as cost', async () => {
    const { client } = fixture;
    await client.enqueueTurn({ conversation: 'called', agent, input: 'one', turn: 't1' });
    await client.result('called', 't1', { waitMs: 60_000 });
    const { window, thresholds, categories } = await client.breakdown('called');
    expect(window).toMatchObject({ maxTokens: 32_000, reservedTokens: expect.any(Number) as number });
    expect(window.freeTokens).toBe(
      32_000 - (window.reservedTokens ?? 0) - (window.providerTokens ?? window.usedTokens),
    );
    expect(thresholds.map(({ name }) => name)).toStrictEqual(['maxTokens', 'thresholdRatio', 'hardRatio']);
    expect(thresholds[0]?.tokens).toBe(2_000);
    const sizes = new Map(categories.map(({ name, tokens }) => [name, tokens]));
    expect(sizes.get('system')).toBeGreaterThan(0);
    expect(sizes.get('tools')).toBeGreaterThan(0);
    expect(categories.find(({ name }) => name === 'user')?.largest).toMatchObject([{ seq: 1, start: 'one' }]);
  });

  test('a breakdown of an older version shows its state when it was made, and the live breakdown counts new messages at once', async () => {
    const { client } = fixture;
    expect(await client.breakdown(conversation, { version: 1 })).toMatchObject({ version: 1, head: 24 });
    await client.append({ conversation: 'growing', agent, messages: talk(2) });
    const before = await client.breakdown('growing');
    await client.append({ conversation: 'growing', agent, messages: talk(2, 3) });
    const after = await client.breakdown('growing');
    expect([before.head, after.head]).toStrictEqual([6, 12]);
    expect(after.window.usedTokens).toBe((await client.context('growing')).tokens);
    await client.erase('growing');
    await client.append({ conversation: 'growing', agent, messages: talk(5) });
    expect((await client.breakdown('growing')).window.usedTokens).toBe((await client.context('growing')).tokens);
  });
});

describe('report', () => {
  test('a report shows each new summary beside its sources, with the identifiers that it kept and lost', async () => {
    const { client } = fixture;
    const id = 'orders';
    const messages = Array.from({ length: 8 }, (_, index) => [
      { role: 'user' as const, content: `please look at order #W87323${index}` },
      { role: 'assistant' as const, content: `I read order #W87323${index} and file src/orders/o${index}.ts` },
      { role: 'assistant' as const, content: `trace_${index}a7f ${'nothing more to say '.repeat(200)}` },
    ]).flat();
    await client.append({ conversation: id, agent, messages });
    const pass = await client.compact(id);
    await expect.poll(async () => (await client.describe(id)).passId, { timeout: 60_000 }).not.toBe(pass);
    const report = await client.report(id, 1);
    expect(report).toMatchObject({ version: 1, parent: 0, cause: 'pass', reasons: ['manual'] });
    expect(report.after.tokens).toBeLessThan(report.before.tokens);
    expect(report.before.messages).toBe(24);
    expect(report.after.messages).toBe((await client.context(id)).items.length);
    expect(report).not.toHaveProperty('cost');
    const log = await client.log(id);
    for (const { from, to, text, sourceTokens, identifiers } of report.parts) {
      const sources = log.slice(from - 1, to);
      expect(sourceTokens).toBe(sources.reduce((sum, { tokens }) => sum + tokens, 0));
      for (const { text: kept } of identifiers.kept) expect(text).toContain(kept);
      for (const { text: lost, seq } of identifiers.lost) {
        expect(text).not.toMatch(new RegExp(`(?<![\\w])${RegExp.escape(lost)}(?![\\w])`, 'u'));
        expect(log[seq - 1]?.message.content).toContain(lost);
      }
    }
    expect(report.parts.length + report.evicted.length).toBeGreaterThan(0);
    const outline = await client.outline(id, { limit: 100 });
    const archived = outline.entries.filter(({ state }) => state === 'archived').map(({ seq }) => seq);
    expect(archived).toStrictEqual(
      report.evicted.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, index) => from + index)),
    );
    const found = await client.report(id, 1, { find: 'NO-SUCH-ID' });
    expect(found.parts.map(({ identifiers }) => identifiers.keptCount + identifiers.lostCount)).toStrictEqual(
      report.parts.map(() => 0),
    );
  });

  test('a report on a version that does not exist fails', async () => {
    await expect(fixture.client.report(conversation, 7)).rejects.toMatchObject({ code: 'not_found', field: 'version' });
    await expect(fixture.client.report('none', 1)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('plan', () => {
  test('a plan shows what a compaction would do, and changes nothing', async () => {
    const { client } = fixture;
    await client.append({ conversation: 'dry', agent, messages: talk(8) });
    const policy = { maxTokens: 2_000, tokenThreshold: 2_000 };
    const plan = await client.plan('dry', { policy });
    expect(plan).toMatchObject({ kind: 'summarize', reasons: ['token_threshold'], messages: 24, mask: [] });
    expect(plan.tokensAfter).toBeLessThan(plan.tokens);
    expect(plan.protected).toStrictEqual(expect.arrayContaining([1, 19, 20, 21, 22, 23, 24]));
    expect(await client.versions('dry')).toStrictEqual([]);
    expect(await client.log('dry')).toHaveLength(24);
  });

  test('the plan for a compacted context names messages by their numbers in the log', async () => {
    const { client } = fixture;
    const plan = await client.plan(conversation, {
      policy: { maxTokens: 300, tokenThreshold: 300, retentionWindow: 0 },
    });
    const { items } = await client.context(conversation);
    const starts = new Set(items.map(({ from }) => from));
    const ends = new Set(items.map(({ to }) => to));
    for (const { from, to } of [...plan.summarize, ...plan.evict, ...plan.mask]) {
      expect([starts.has(from), ends.has(to)]).toStrictEqual([true, true]);
    }
    expect(plan.messages).toBe(items.length);
  });

  test('a plan uses the model window that a worker recorded', async () => {
    const { client } = fixture;
    await client.enqueueTurn({ conversation: 'windowed', agent, input: 'one', turn: 't1' });
    await client.result('windowed', 't1', { waitMs: 60_000 });
    await expect(client.plan('windowed', { policy: { maxTokens: 31_000 } })).rejects.toMatchObject({
      code: 'invalid_policy',
      field: 'thresholdRatio',
    });
    expect(await client.plan('windowed')).toMatchObject({ kind: 'none', evict: [], summarize: [] });
  });

  test('a plan without a policy uses the settings of the agent, once a worker has recorded them', async () => {
    const { client } = fixture;
    const id = 'own-policy';
    await client.append({ conversation: id, agent, messages: talk(8) });
    const policy = { maxTokens: 2_000, tokenThreshold: 2_000 };
    expect((await client.breakdown(id)).policy).toBeUndefined();
    const before = await client.plan(id, { policy });
    await client.enqueueTurn({ conversation: id, agent, input: 'one', turn: 't1' });
    await client.result(id, 't1', { waitMs: 60_000 });
    expect((await client.breakdown(id)).policy).toStrictEqual({ retentionWindow: 2, maxTokens: 2_000 });
    const after = await client.plan(id, { policy: { tokenThreshold: 2_000 } });
    expect(after).toMatchObject({ kind: 'summarize', messages: before.messages + 2 });
    const newest = ({ messages, protected: kept }: typeof after) => kept.filter((seq) => seq > messages - 6).length;
    expect([newest(before), newest(after)]).toStrictEqual([6, 2]);
    const given = await client.plan(id, { policy: { ...policy, retentionWindow: 6 } });
    expect(newest(given)).toBe(6);
  });

  test('plan refuses an invalid policy, and the error names the setting', async () => {
    await expect(fixture.client.plan(conversation, { policy: { maxTokens: -1 } })).rejects.toMatchObject({
      code: 'invalid_policy',
      field: 'maxTokens',
    });
    await expect(fixture.client.plan('none')).rejects.toMatchObject({ code: 'not_found', field: 'conversation' });
  });
});
