import type { Redis } from 'ioredis';
import { KEY_LIMITS, SCOPES, type Scope, type StoredKey } from '../domain/access-key.ts';
import type { Keyspace } from './keys.ts';
import { RecordFields } from './records.ts';
import { type ScriptDefinition, scriptBinder } from './script.ts';

export function openAccessKeyStore(redis: Redis, keyspace: Keyspace) {
  const bind = scriptBinder(redis, keyspace);
  return {
    createKey: bind(createKeyScript),
    readKey: bind(readKeyScript),
    listKeys: bind(listKeysScript),
    rotateKey: bind(rotateKeyScript),
    revokeKey: bind(revokeKeyScript),
    recordKeyUse: bind(recordKeyUseScript),
    /** @param created secret of a tenant that has none. Absent: no secret is created */
    readTokenSecret: bind(tokenSecretScript),
  };
}

export type AccessKeyStore = ReturnType<typeof openAccessKeyStore>;

/** An access key as read at the time `now` of the store's clock, in ms. */
export interface KeyReading {
  readonly key: StoredKey;
  readonly now: number;
}

export interface NewKeyRecord {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly hash: string;
  readonly expiresInMs?: number | undefined;
}

const createKeyScript: ScriptDefinition<[key: NewKeyRecord], KeyReading> = {
  file: 'create-access-key',
  keys: ([{ id }], keyspace) => ({ key: keyspace.accessKey(id), keys: keyspace.accessKeys() }),
  args: ([{ id, tenant, name, scopes, hash, expiresInMs }]) => ({
    id,
    tenant,
    name,
    scopes: scopes.join(' '),
    hash,
    expiresInMs,
  }),
  decode: (reply, [{ id }], keyspace) => decodeReading(reply as KeyReply, id, keyspace),
};

const readKeyScript: ScriptDefinition<[id: string], KeyReading | undefined> = {
  file: 'read-access-key',
  keys: ([id], keyspace) => ({ key: keyspace.accessKey(id) }),
  decode: (reply, [id], keyspace) => decodeFound(reply as KeyReply, id, keyspace),
};

export interface KeyPage {
  readonly readings: readonly KeyReading[];
  readonly next?: string;
}

export interface KeyQuery {
  readonly tenant?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

const listKeysScript: ScriptDefinition<[query: KeyQuery], KeyPage> = {
  file: 'list-access-keys',
  keys: (_, keyspace) => ({ keys: keyspace.accessKeys() }),
  args: ([{ tenant, after, limit }], keyspace) => ({
    keyPrefix: keyspace.accessKey(''),
    after,
    prefix: tenant && `${tenant}|`,
    limit,
  }),
  decode: (reply, _, keyspace): KeyPage => {
    const [next, ...rows] = reply as [string, ...[id: string, ...KeyReply][]];
    const readings = rows.map(([id, ...row]) => decodeReading(row, id, keyspace));
    return { readings, ...(next !== '' && { next }) };
  },
};

const rotateKeyScript: ScriptDefinition<[id: string, hash: string, graceMs: number], KeyReading | undefined> = {
  file: 'rotate-access-key',
  keys: ([id], keyspace) => ({ key: keyspace.accessKey(id) }),
  args: ([, newHash, graceMs]) => ({ newHash, graceMs }),
  decode: (reply, [id], keyspace) => decodeFound(reply as KeyReply, id, keyspace),
};

const revokeKeyScript: ScriptDefinition<[id: string], KeyReading | undefined> = {
  file: 'revoke-access-key',
  keys: ([id], keyspace) => ({ key: keyspace.accessKey(id) }),
  args: () => ({ listedMs: KEY_LIMITS.revokedMs }),
  decode: (reply, [id], keyspace) => decodeFound(reply as KeyReply, id, keyspace),
};

const recordKeyUseScript: ScriptDefinition<[id: string], void> = {
  file: 'record-access-key-use',
  keys: ([id], keyspace) => ({ key: keyspace.accessKey(id) }),
  args: () => ({ useMs: KEY_LIMITS.useMs }),
  decode: () => undefined,
};

type KeyReply = [now: number, fields: string[]];

function decodeFound(reply: KeyReply, id: string, keyspace: Keyspace): KeyReading | undefined {
  return reply[1].length === 0 ? undefined : decodeReading(reply, id, keyspace);
}

function decodeReading([now, flat]: KeyReply, id: string, keyspace: Keyspace): KeyReading {
  return { key: decodeKey(id, RecordFields.ofList(keyspace.accessKey(id), flat)), now };
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

/** Secrets that sign the conversation tokens of a tenant, as read at the time `now` of the store's clock. */
export interface TokenSecrets {
  readonly now: number;
  readonly id?: string;
  readonly secret?: string;
  readonly previousId?: string;
  readonly previousSecret?: string;
  readonly previousUntil?: number;
}

/** @param graceMs replaces the secret of the tenant. The former one stays valid for this time. Absent: no replacement */
const tokenSecretScript: ScriptDefinition<
  [tenant: string, created?: { readonly id: string; readonly secret: string }, graceMs?: number],
  TokenSecrets
> = {
  file: 'token-secret',
  keys: ([tenant], keyspace) => ({ secrets: keyspace.tokenSecrets(tenant) }),
  args: ([, created, graceMs]) => ({ newId: created?.id, newSecret: created?.secret, graceMs }),
  decode: (reply, [tenant], keyspace) => {
    const [now, flat] = reply as KeyReply;
    const fields = RecordFields.ofList(keyspace.tokenSecrets(tenant), flat);
    const names = ['id', 'secret', 'previousId', 'previousSecret'] as const;
    const texts: [string, string][] = names.flatMap((name) =>
      fields.has(name) ? [[name, fields.needText(name)]] : [],
    );
    const previousUntil = fields.count('previousUntil');
    return { now, ...Object.fromEntries(texts), ...(previousUntil !== undefined && { previousUntil }) };
  },
};
