import type { Redis } from 'ioredis';
import { KEY_LIMITS, SCOPES, type StoredKey } from '../domain/access-key.ts';
import type { AccessKeyStore, KeyPage, KeyReading } from '../domain/ports/access-key-store.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import { type ScriptOf, scriptBinder } from './script.ts';

/** Opens the store of access keys. All keys lie in one Cluster slot, beside the set that lists them. */
export function openAccessKeyStore(redis: Redis, keyspace: Keyspace): AccessKeyStore {
  const bind = scriptBinder(redis, keyspace);
  return {
    createKey: bind(createKeyScript),
    readKey: bind(readKeyScript),
    listKeys: bind(listKeysScript),
    rotateKey: bind(rotateKeyScript),
    revokeKey: bind(revokeKeyScript),
    recordKeyUse: bind(recordKeyUseScript),
  };
}

const createKeyScript: ScriptOf<AccessKeyStore['createKey']> = {
  file: 'create-access-key',
  keys: ([{ id }], keyspace) => [keyspace.accessKey(id), keyspace.accessKeys()],
  args: ([{ id, tenant, name, scopes, hash, expiresInMs }]) => [
    id,
    tenant,
    name,
    scopes.join(' '),
    hash,
    expiresInMs ?? '',
  ],
  decode: (reply, [{ id }], keyspace) => decodeReading(reply as KeyReply, id, keyspace),
};

const readKeyScript: ScriptOf<AccessKeyStore['readKey']> = {
  file: 'read-access-key',
  keys: ([id], keyspace) => [keyspace.accessKey(id)],
  args: () => [],
  decode: (reply, [id], keyspace) => decodeFound(reply as KeyReply, id, keyspace),
};

const listKeysScript: ScriptOf<AccessKeyStore['listKeys']> = {
  file: 'list-access-keys',
  keys: (_, keyspace) => [keyspace.accessKeys()],
  args: ([{ tenant, after = '', limit }], keyspace) => [
    keyspace.accessKey(''),
    after,
    tenant === undefined ? '' : `${tenant}|`,
    limit,
  ],
  decode: (reply, _, keyspace): KeyPage => {
    const [next, ...rows] = reply as [string, ...[id: string, ...KeyReply][]];
    const readings = rows.map(([id, ...row]) => decodeReading(row, id, keyspace));
    return { readings, ...(next !== '' && { next }) };
  },
};

const rotateKeyScript: ScriptOf<AccessKeyStore['rotateKey']> = {
  file: 'rotate-access-key',
  keys: ([id], keyspace) => [keyspace.accessKey(id)],
  args: ([, hash, graceMs]) => [hash, graceMs],
  decode: (reply, [id], keyspace) => decodeFound(reply as KeyReply, id, keyspace),
};

const revokeKeyScript: ScriptOf<AccessKeyStore['revokeKey']> = {
  file: 'revoke-access-key',
  keys: ([id], keyspace) => [keyspace.accessKey(id)],
  args: () => [KEY_LIMITS.revokedMs],
  decode: (reply, [id], keyspace) => decodeFound(reply as KeyReply, id, keyspace),
};

const recordKeyUseScript: ScriptOf<AccessKeyStore['recordKeyUse']> = {
  file: 'record-access-key-use',
  keys: ([id], keyspace) => [keyspace.accessKey(id)],
  args: () => [KEY_LIMITS.useMs],
  decode: () => undefined,
};

/** Time of the store's clock, then the fields of the key. An unknown key has no fields. */
type KeyReply = [now: number, fields: string[]];

function decodeFound(reply: KeyReply, id: string, keyspace: Keyspace): KeyReading | undefined {
  return reply[1].length === 0 ? undefined : decodeReading(reply, id, keyspace);
}

function decodeReading([now, flat]: KeyReply, id: string, keyspace: Keyspace): KeyReading {
  const values = new Map(flat.flatMap((field, at) => (at % 2 === 0 ? [[field, flat[at + 1] ?? '']] : [])));
  return { key: decodeKey(id, new RecordFields(keyspace.accessKey(id), values)), now };
}

function decodeKey(id: string, fields: RecordFields): StoredKey {
  const previousHash = fields.text('previousHash');
  const times = ['expiresAt', 'usedAt', 'rotatedAt', 'revokedAt', 'previousUntil'].flatMap((field) => {
    const time = fields.count(field);
    return time === undefined ? [] : [[field, time]];
  });
  return {
    id,
    tenant: fields.needText('tenant'),
    name: fields.needText('name'),
    scopes: fields
      .needText('scopes')
      .split(' ')
      .map((scope) => fields.check('scopes', scope, SCOPES)),
    createdAt: fields.needCount('createdAt'),
    hash: fields.needText('hash'),
    ...(previousHash !== undefined && { previousHash }),
    ...(Object.fromEntries(times) as Pick<StoredKey, 'expiresAt'>),
  };
}
