import { randomBytes } from 'node:crypto';
import {
  type AccessKey,
  type KeyState,
  keyIdSchema,
  keyInputSchema,
  rotationSchema,
  type Scope,
  type StoredKey,
  stateOfKey,
  writeToken,
} from '../../domain/access-key.ts';
import { fieldError } from '../../domain/errors.ts';
import { idSchema } from '../../domain/ids.ts';
import { parseInput } from '../../domain/parse.ts';
import type { AccessKeyStore, KeyReading } from '../../store/access-keys.ts';
import { type Authentication, Authenticator, type AuthenticatorPorts, hashSecret } from './authentication.ts';
import { newSecret } from './conversation-tokens.ts';

export interface AccessKeyView extends AccessKey {
  readonly state: KeyState;
}

export interface IssuedKey {
  /** The key, as `list` shows it. */
  readonly key: AccessKeyView;
  /** Bearer token. turnfold stores only a hash of its secret, so the token cannot be shown again. */
  readonly token: string;
}

export interface AccessKeyInput {
  readonly tenant: string;
  /** Rights of the key in its tenant. */
  readonly scopes: readonly Scope[];
  /** Name for people who list keys, at most 128 characters. */
  readonly name?: string | undefined;
  /** Time until the key expires, in ms (default: it does not expire). */
  readonly expiresInMs?: number | undefined;
}

export interface AccessKeys {
  /** Creates a key for one tenant. */
  create(input: AccessKeyInput): Promise<IssuedKey>;
  /** Lists keys by tenant and id. Revoked keys are listed for 30 days. */
  list(input?: { readonly tenant?: string | undefined }): Promise<AccessKeyView[]>;
  /** Gives a key a new secret. Tokens with the previous secret are accepted for `graceMs` (a day). */
  rotate(id: string, input?: { readonly graceMs?: number | undefined }): Promise<IssuedKey>;
  /** Revokes a key for good. Each process refuses the key after at most 2 s, and ends its open requests within 5 s. */
  revoke(id: string): Promise<AccessKeyView>;
  /**
   * Gives a tenant a new secret for its conversation tokens. Tokens that the previous secret signed are accepted for
   * `graceMs` (a day). With 0, all tokens of the tenant are refused after at most 2 s.
   */
  rotateTokenSecret(input: { readonly tenant: string; readonly graceMs?: number | undefined }): Promise<void>;
  /** Checks a bearer token: an access key, or a token of one conversation. Throws only if Redis cannot be read. */
  authenticate(token: string): Promise<Authentication>;
}

interface AccessKeyPorts extends AuthenticatorPorts {
  readonly keys: AccessKeyStore;
}

const PAGE = 100;

export function createAccessKeys(ports: AccessKeyPorts): AccessKeys {
  const { keys } = ports;
  const authenticator = new Authenticator(ports);
  return {
    async create(input) {
      const key = parseInput(keyInputSchema, input);
      const id = randomBytes(8).toString('hex');
      const secret = createSecret();
      const reading = await keys.createKey({ ...key, id, hash: hashSecret(secret) });
      return { key: viewKey(reading), token: writeToken(id, secret) };
    },
    async list({ tenant } = {}) {
      const query = { tenant: parseInput(idSchema.optional(), tenant, 'tenant'), limit: PAGE };
      const listed: AccessKeyView[] = [];
      let after: string | undefined;
      do {
        const { readings, next } = await keys.listKeys({ ...query, after });
        listed.push(...readings.map(viewKey));
        after = next;
      } while (after !== undefined);
      return listed;
    },
    async rotate(name, input = {}) {
      const id = parseInput(keyIdSchema, name, 'id');
      const { graceMs } = parseInput(rotationSchema, input);
      const secret = createSecret();
      const reading = await keys.rotateKey(id, hashSecret(secret), graceMs);
      if (reading === undefined) throw noKey(id);
      if (reading.key.revokedAt !== undefined) {
        throw fieldError('conflict', 'id', `access key ${id} is revoked. Create another key.`);
      }
      return { key: viewKey(reading), token: writeToken(id, secret) };
    },
    async revoke(name) {
      const id = parseInput(keyIdSchema, name, 'id');
      const reading = await keys.revokeKey(id);
      if (reading === undefined) throw noKey(id);
      return viewKey(reading);
    },
    async rotateTokenSecret({ tenant: given, ...input }) {
      const tenant = parseInput(idSchema, given, 'tenant');
      const { graceMs } = parseInput(rotationSchema, input);
      await keys.readTokenSecret(tenant, newSecret(), graceMs);
    },
    authenticate: (token) => authenticator.authenticate(token),
  };
}

function noKey(id: string) {
  return fieldError('not_found', 'id', `no access key ${id}`);
}

function createSecret(): string {
  return randomBytes(32).toString('base64url');
}

function viewKey({ key, now }: KeyReading): AccessKeyView {
  const { hash: _hash, previousHash: _previous, previousUntil: _until, ...shown }: StoredKey = key;
  return { ...shown, state: stateOfKey(key, now) };
}
