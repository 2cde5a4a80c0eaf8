import { expect, test } from 'vitest';
import { ownerSchema } from '../../src/domain/conversation-about.ts';
import {
  isConversationToken,
  joinToken,
  readConversationToken,
  type TokenClaims,
  writeClaims,
} from '../../src/domain/conversation-token.ts';

const signature = 's'.repeat(43);
const claims: TokenClaims = {
  secret: '0123456789abcdef',
  tenant: 'shop',
  conversation: 'order-17',
  owner: 'ann@example.com',
  scopes: ['read', 'enqueue'],
  expiresAt: 1_000,
};

test.each<[string, TokenClaims]>([
  ['with an owner', claims],
  ['without an owner', { ...claims, owner: undefined }],
])('a token %s is read with the claims and the signature that it was written with', (_, given) => {
  const signed = writeClaims(given);
  expect(readConversationToken(joinToken(signed, signature))).toEqual({ signed, signature, claims: given });
});

test.each<[string, object]>([
  ['an id of a secret that is not hexadecimal', { secret: 'x'.repeat(16) }],
  ['an empty tenant', { tenant: '' }],
  ['an empty conversation', { conversation: '' }],
  ['an owner of two lines', { owner: 'a\nb' }],
  ['no scopes', { scopes: [] }],
  ['a scope that no token may carry', { scopes: ['admin'] }],
  ['more scopes than exist', { scopes: ['read', 'read', 'read', 'read'] }],
  ['a negative time', { expiresAt: -1 }],
])('a token that claims %s is not read', (_, change) => {
  const signed = writeClaims({ ...claims, ...change });
  expect(readConversationToken(joinToken(signed, signature))).toBeUndefined();
});

test.each([
  ['has another start', `tfx_${writeClaims(claims)}.${signature}`],
  ['has no signature', `tfc_${writeClaims(claims)}`],
  ['has a signature that is too short', joinToken(writeClaims(claims), signature.slice(1))],
  ['has claims that are too long', joinToken(padClaims(1_000), signature)],
  ['has claims that are not JSON', joinToken(Buffer.from('{').toString('base64url'), signature)],
  ['has claims that are no object', joinToken(Buffer.from('null').toString('base64url'), signature)],
])('a text that %s is no conversation token', (_, token) => {
  expect(readConversationToken(token)).toBeUndefined();
});

test.each(['x', 'ü', '訂', '"', '😀'])('a token with the longest ids and an owner of many %s is read', (character) => {
  const owner = ownerSchema.parse(character.repeat(128 / character.length));
  const longest = { ...claims, tenant: 't'.repeat(128), conversation: 'c'.repeat(128), owner, expiresAt: 9e15 };
  const scopes = ['read', 'enqueue', 'answer'] as const;
  const signed = writeClaims({ ...longest, scopes });
  expect(readConversationToken(joinToken(signed, signature))?.claims).toEqual({ ...longest, scopes });
});

test('an owner with half of a surrogate pair is refused', () => {
  for (const owner of ['\ud83d', 'ann\ude00', '\ude00\ud83d']) expect(ownerSchema.safeParse(owner).success).toBe(false);
});

test('claims padded with blanks are read as long as they are not too long', () => {
  expect(readConversationToken(joinToken(padClaims(100), signature))?.claims).toEqual(claims);
});

test('the start of a key alone shows whether the key is a conversation token', () => {
  expect(isConversationToken(joinToken(writeClaims(claims), signature))).toBe(true);
  expect(isConversationToken('tfc_')).toBe(true);
  expect(isConversationToken('tfk_tfc_')).toBe(false);
});

function padClaims(blanks: number): string {
  const json = Buffer.from(writeClaims(claims), 'base64url').toString();
  return Buffer.from(json + ' '.repeat(blanks)).toString('base64url');
}
