import { describe, expect, test } from 'vitest';
import { type AccessKeys, createAccessKeys } from '../../src/api/client/access-keys.ts';
import { KEY_CACHE_MS } from '../../src/api/client/authentication.ts';
import { TestDatabase } from '../store/test-database.ts';

const DAY_MS = 86_400_000;

/** Keys of a store in this process, with clocks that the test moves, and counts of the calls of the store. */
class Fixture {
  readonly #db: TestDatabase;
  readonly store: TestDatabase['store'];
  readonly calls = { reads: 0, uses: 0 };
  #elapsedMs = 0;

  private constructor(db: TestDatabase) {
    this.#db = db;
    this.store = db.store;
  }

  static async open(): Promise<Fixture> {
    return new Fixture(await TestDatabase.open());
  }

  /** The keys as one process sees them. */
  openProcess(): AccessKeys {
    return createAccessKeys({
      keys: {
        ...this.store,
        readKey: async (id) => {
          this.calls.reads += 1;
          return await this.store.readKey(id);
        },
        recordKeyUse: async (id) => {
          this.calls.uses += 1;
          await this.store.recordKeyUse(id);
        },
      },
      onError: (error) => {
        throw error;
      },
      elapsedMs: () => this.#elapsedMs,
    });
  }

  pass(ms: number): void {
    this.#db.advance(ms);
    this.#elapsedMs += ms;
  }
}

describe('authenticate', () => {
  test('authenticate grants a token the tenant and the scopes of its key (I19)', async () => {
    const keys = (await Fixture.open()).openProcess();
    const one = await keys.create({ tenant: 'one', scopes: ['answer', 'read', 'read'] });
    const two = await keys.create({ tenant: 'two', scopes: ['admin'] });
    const { id } = one.key;
    const granted = { status: 'granted', key: id, tenant: 'one', scopes: ['read', 'answer'] };
    expect(await keys.authenticate(one.token)).toEqual(granted);
    expect(await keys.authenticate(two.token)).toMatchObject({ tenant: 'two', scopes: ['admin'] });
    // The id of one key with the secret of the other.
    const mixed = one.token.slice(0, 21) + two.token.slice(21);
    expect(await keys.authenticate(mixed)).toEqual({ status: 'refused', why: 'wrong_secret' });
    expect(await keys.authenticate(one.token)).toEqual(granted);
  });

  test.each([
    '',
    'x',
    'tfk_',
    `tfk_${'0'.repeat(16)}_short`,
    `Bearer tfk_${'0'.repeat(16)}_${'a'.repeat(43)}`,
    '\0'.repeat(64),
  ])('authenticate refuses the malformed text %j without a read from the store', async (token) => {
    const fixture = await Fixture.open();
    expect(await fixture.openProcess().authenticate(token)).toEqual({ status: 'refused', why: 'malformed' });
    expect(fixture.calls.reads).toBe(0);
  });

  test('authenticate refuses the token of an unknown key', async () => {
    const keys = (await Fixture.open()).openProcess();
    const token = `tfk_${'0'.repeat(16)}_${'a'.repeat(43)}`;
    expect(await keys.authenticate(token)).toEqual({ status: 'refused', why: 'unknown' });
  });

  test('authenticate remembers a granted token for two seconds, and records its use once a minute', async () => {
    const fixture = await Fixture.open();
    const keys = fixture.openProcess();
    const { token } = await keys.create({ tenant: 'one', scopes: ['read'] });
    for (let request = 0; request < 1_000; request += 1) await keys.authenticate(token);
    expect(fixture.calls).toEqual({ reads: 1, uses: 1 });
    for (let second = 0; second < 60; second += 1) {
      fixture.pass(1_000);
      await keys.authenticate(token);
    }
    expect(fixture.calls).toEqual({ reads: 31, uses: 2 });
  });

  test('a process refuses a key that another process revoked once two seconds have passed', async () => {
    const fixture = await Fixture.open();
    const [keys, other] = [fixture.openProcess(), fixture.openProcess()];
    const { key, token } = await keys.create({ tenant: 'one', scopes: ['read'] });
    await other.authenticate(token);
    await keys.revoke(key.id);
    fixture.pass(KEY_CACHE_MS - 1);
    expect(await other.authenticate(token)).toMatchObject({ status: 'granted' });
    fixture.pass(1);
    expect(await other.authenticate(token)).toEqual({ status: 'refused', why: 'revoked' });
  });

  test('an expired key is refused at its expiry, even by a process that remembers the key', async () => {
    const fixture = await Fixture.open();
    const keys = fixture.openProcess();
    const { token } = await keys.create({ tenant: 'one', scopes: ['read'], expiresInMs: 4_500 });
    expect(await keys.authenticate(token)).toMatchObject({ status: 'granted' });
    fixture.pass(4_500);
    expect(await keys.authenticate(token)).toEqual({ status: 'refused', why: 'expired' });
  });

  test('after a rotation, the new secret is granted at once, and the old secret until the grace period ends', async () => {
    const fixture = await Fixture.open();
    const keys = fixture.openProcess();
    const { key, token } = await keys.create({ tenant: 'one', scopes: ['read'] });
    await keys.authenticate(token);
    const rotated = await keys.rotate(key.id, { graceMs: 600_000 });
    expect(await keys.authenticate(rotated.token)).toMatchObject({ status: 'granted', key: key.id });
    fixture.pass(540_000);
    expect(await keys.authenticate(token)).toMatchObject({ status: 'granted' });
    fixture.pass(60_000);
    expect(await keys.authenticate(token)).toEqual({ status: 'refused', why: 'wrong_secret' });
    expect(await keys.authenticate(rotated.token)).toMatchObject({ status: 'granted' });
  });

  test('a second rotation refuses the first secret at once', async () => {
    const keys = (await Fixture.open()).openProcess();
    const { key, token } = await keys.create({ tenant: 'one', scopes: ['read'] });
    const second = await keys.rotate(key.id);
    await keys.rotate(key.id);
    expect(await keys.authenticate(token)).toEqual({ status: 'refused', why: 'wrong_secret' });
    expect(await keys.authenticate(second.token)).toMatchObject({ status: 'granted' });
  });
});

describe('management of access keys', () => {
  test('no stored or listed value of an access key contains its secret', async () => {
    const fixture = await Fixture.open();
    const keys = fixture.openProcess();
    const { key, token } = await keys.create({ tenant: 'one', name: 'billing', scopes: ['read'] });
    const secret = token.slice(-43);
    const stored = await fixture.store.readKey(key.id);
    expect(JSON.stringify([key, await keys.list(), stored])).not.toContain(secret);
    expect(JSON.stringify([key, await keys.list()])).not.toContain(stored?.key.hash);
  });

  test('access keys are listed with their states, for all tenants or for one tenant', async () => {
    const fixture = await Fixture.open();
    const keys = fixture.openProcess();
    await keys.create({ tenant: 'a', scopes: ['read'], expiresInMs: 1_000 });
    const { key } = await keys.create({ tenant: 'b', scopes: ['read'] });
    for (let count = 0; count < 120; count += 1) await keys.create({ tenant: 'c', scopes: ['read'] });
    await keys.revoke(key.id);
    fixture.pass(1_000);
    const states = (await keys.list()).map(({ tenant, state }) => `${tenant} ${state}`);
    expect(states.slice(0, 3)).toEqual(['a expired', 'b revoked', 'c active']);
    expect(states).toHaveLength(122);
    fixture.pass(30 * DAY_MS);
    expect(await keys.list({ tenant: 'b' })).toEqual([]);
  });

  test('invalid input for an access key is refused with the name of its field', async () => {
    const keys = (await Fixture.open()).openProcess();
    const { key } = await keys.create({ tenant: 'one', scopes: ['read'] });
    await keys.revoke(key.id);
    const unknown = '0'.repeat(16);
    const refusals: [Promise<unknown>, string, string][] = [
      [keys.create({ tenant: 'a b', scopes: ['read'] }), 'invalid_input', 'tenant'],
      [keys.create({ tenant: 'a', scopes: [] }), 'invalid_input', 'scopes'],
      [keys.create({ tenant: 'a', scopes: ['write' as 'read'] }), 'invalid_input', 'scopes[0]'],
      [keys.create({ tenant: 'a', scopes: ['read'], expiresInMs: 0 }), 'invalid_input', 'expiresInMs'],
      [keys.list({ tenant: '' }), 'invalid_input', 'tenant'],
      [keys.rotate('nobody'), 'invalid_input', 'id'],
      [keys.rotate(key.id, { graceMs: -1 }), 'invalid_input', 'graceMs'],
      [keys.rotate(key.id), 'conflict', 'id'],
      [keys.rotate(unknown), 'not_found', 'id'],
      [keys.revoke(unknown), 'not_found', 'id'],
    ];
    for (const [call, code, field] of refusals) await expect(call).rejects.toMatchObject({ code, field });
  });
});
