import { describe, expect, test } from 'vitest';
import {
  acceptedHashes,
  includesScope,
  isUseRecordable,
  readToken,
  type StoredKey,
  stateOfKey,
  writeToken,
} from '../../src/domain/access-key.ts';

const key: StoredKey = { id: 'a', tenant: 't', name: '', scopes: ['read'], createdAt: 1, hash: 'new' };

describe('access keys', () => {
  test('the access key scope `admin` includes every scope, and other scopes include only themselves', () => {
    expect(includesScope(['admin'], 'answer')).toBe(true);
    expect(includesScope(['read', 'enqueue'], 'enqueue')).toBe(true);
    expect(includesScope(['read', 'enqueue'], 'answer')).toBe(false);
    expect(includesScope([], 'read')).toBe(false);
  });

  test('an access key is active before its expiry, expired from then on, and revoked in any case', () => {
    expect(stateOfKey(key, 9)).toBe('active');
    expect(stateOfKey({ ...key, expiresAt: 10 }, 9)).toBe('active');
    expect(stateOfKey({ ...key, expiresAt: 10 }, 10)).toBe('expired');
    expect(stateOfKey({ ...key, expiresAt: 10, revokedAt: 5 }, 7)).toBe('revoked');
  });

  test('the previous secret of an access key is accepted before the end of its grace period', () => {
    expect(acceptedHashes(key, 9)).toEqual(['new']);
    expect(acceptedHashes({ ...key, previousHash: 'old', previousUntil: 10 }, 9)).toEqual(['new', 'old']);
    expect(acceptedHashes({ ...key, previousHash: 'old', previousUntil: 10 }, 10)).toEqual(['new']);
    expect(acceptedHashes({ ...key, previousHash: 'old' }, 10)).toEqual(['new']);
  });

  test('the use of an access key is recorded at most once a minute', () => {
    expect(isUseRecordable(key, 60_000)).toBe(true);
    expect(isUseRecordable({ ...key, usedAt: 1 }, 60_000)).toBe(false);
    expect(isUseRecordable({ ...key, usedAt: 1 }, 60_001)).toBe(true);
  });

  test('an access key token is read back as written, and text of another form is not read as a token', () => {
    const [id, secret] = ['0123456789abcdef', 'A'.repeat(43)];
    expect(readToken(writeToken(id, secret))).toEqual({ id, secret });
    for (const text of ['', `tfk_${id}`, `tfk_${id}_${secret}A`, `tfk_${id}_${secret}\n`, ` tfk_${id}_${secret}`]) {
      expect(readToken(text)).toBeUndefined();
    }
  });
});
