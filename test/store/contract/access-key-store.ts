import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { NewKeyRecord } from '../../../src/store/access-keys.ts';
import type { Given } from './fixture.ts';

function keyOf(over: Partial<NewKeyRecord> = {}): NewKeyRecord {
  return {
    id: randomBytes(8).toString('hex'),
    tenant: `t${randomBytes(8).toString('hex')}`,
    name: 'billing',
    scopes: ['read', 'enqueue'],
    hash: 'first',
    ...over,
  };
}

export function describeAccessKeyStore(given: Given): void {
  test('a created access key is read with its tenant, scopes and expiry', async () => {
    const { store } = given.harness();
    const key = keyOf({ expiresInMs: 60_000 });
    const { now } = await store.createKey(key);
    const { expiresInMs: _, ...rest } = key;
    expect((await store.readKey(key.id))?.key).toEqual({ ...rest, createdAt: now, expiresAt: now + 60_000 });
    expect(await store.readKey('0'.repeat(16))).toBeUndefined();
  });

  test('a repeated creation of an access key changes nothing', async () => {
    const { store } = given.harness();
    const key = keyOf();
    const { key: created } = await store.createKey(key);
    const again = await store.createKey({ ...key, tenant: 'other', hash: 'second' });
    expect(again.key).toEqual(created);
    expect((await store.listKeys({ tenant: key.tenant, limit: 10 })).readings).toHaveLength(1);
  });

  test('a rotated access key has the new hash, and the previous hash until the grace period ends', async () => {
    const { store } = given.harness();
    const { id } = keyOf();
    await store.createKey(keyOf({ id }));
    const first = await store.rotateKey(id, 'second', 5_000);
    const at = first?.key.rotatedAt ?? 0;
    expect(first?.key).toMatchObject({ hash: 'second', previousHash: 'first', previousUntil: at + 5_000 });
    expect((await store.rotateKey(id, 'second', 9_000))?.key).toEqual(first?.key);
    expect((await store.rotateKey(id, 'third', 0))?.key).toMatchObject({ hash: 'third', previousHash: 'second' });
    expect(await store.rotateKey('0'.repeat(16), 'second', 0)).toBeUndefined();
  });

  test('a revoked access key stays revoked, and can neither be rotated nor used', async () => {
    const { store } = given.harness();
    const key = keyOf();
    await store.createKey(key);
    const revoked = (await store.revokeKey(key.id))?.key;
    expect(revoked?.revokedAt).toBeGreaterThan(0);
    await store.rotateKey(key.id, 'second', 0);
    await store.recordKeyUse(key.id);
    expect((await store.revokeKey(key.id))?.key).toEqual(revoked);
    expect((await store.listKeys({ tenant: key.tenant, limit: 10 })).readings.map((read) => read.key)).toEqual([
      revoked,
    ]);
    expect(await store.revokeKey('0'.repeat(16))).toBeUndefined();
  });

  test('a use of an access key is recorded once within a minute, and never for an unknown key', async () => {
    const { store } = given.harness();
    const { id } = keyOf();
    await store.createKey(keyOf({ id }));
    await store.recordKeyUse(id);
    const usedAt = (await store.readKey(id))?.key.usedAt;
    expect(usedAt).toBeGreaterThan(0);
    await store.recordKeyUse(id);
    expect((await store.readKey(id))?.key.usedAt).toBe(usedAt);
    await store.recordKeyUse('0'.repeat(16));
    expect(await store.readKey('0'.repeat(16))).toBeUndefined();
  });

  test('access keys are listed in pages, of one tenant or of all', async () => {
    const { store } = given.harness();
    const { tenant } = keyOf();
    const ids = ['b', 'a', 'c'].map((start) => `${start}${randomBytes(8).toString('hex').slice(1)}`);
    for (const id of ids) await store.createKey(keyOf({ id, tenant }));
    // A tenant whose name starts with the name of the other tenant.
    await store.createKey(keyOf({ tenant: `${tenant}.2` }));
    const first = await store.listKeys({ tenant, limit: 2 });
    const second = await store.listKeys({ tenant, limit: 2, after: first.next });
    expect(second.next).toBeUndefined();
    const listed = [...first.readings, ...second.readings].map(({ key }) => key.id);
    expect(listed).toEqual(ids.toSorted());
    const all = (await store.listKeys({ limit: 1_000 })).readings.map(({ key }) => key.id);
    expect(all).toEqual(expect.arrayContaining(ids));
    expect(all.length).toBeGreaterThan(3);
  });
}
