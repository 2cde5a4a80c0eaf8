import { z } from 'zod';
import type { Scope } from './access-key.ts';
import { boundedList } from './bounded-schemas.ts';
import { ownerSchema } from './conversation-about.ts';
import { idSchema } from './ids.ts';
import { readJsonText } from './json-text.ts';

/** A browser never needs more. With `admin`, it could erase what it may only show. */
export const TOKEN_SCOPES = ['read', 'enqueue', 'answer'] as const satisfies readonly Scope[];

export const TOKEN_LIMITS = { expiresInMs: 3_600_000, maxExpiresInMs: 86_400_000 } as const;

/** Rights that a token carries, signed. Times in ms since epoch, by the clock of Redis. */
export interface TokenClaims {
  /** Id of the secret that signed the token. */
  readonly secret: string;
  readonly tenant: string;
  readonly conversation: string;
  /** Owner of the conversation if the bearer creates it. */
  readonly owner?: string | undefined;
  readonly scopes: readonly (typeof TOKEN_SCOPES)[number][];
  readonly expiresAt: number;
}

const claimsSchema = z.object({
  k: z.string().regex(/^[0-9a-f]{16}$/),
  t: idSchema,
  c: idSchema,
  o: ownerSchema.optional(),
  s: boundedList(z.enum(TOKEN_SCOPES), TOKEN_SCOPES.length).min(1),
  e: z.number().int().min(0),
});

/** Token: `tfc_`, the claims as JSON in base64url, a dot, the signature. Secret scanners recognize the fixed start. */
const TOKEN = /^tfc_([\w-]{1,1000})\.([\w-]{43})$/;

export function isConversationToken(token: string): boolean {
  return token.startsWith('tfc_');
}

/** Returns what is signed. */
export function writeClaims({ secret, tenant, conversation, owner, scopes, expiresAt }: TokenClaims): string {
  const claims = { k: secret, t: tenant, c: conversation, o: owner, s: scopes, e: expiresAt };
  return Buffer.from(JSON.stringify(claims)).toString('base64url');
}

export function joinToken(claims: string, signature: string): string {
  return `tfc_${claims}.${signature}`;
}

/** Reads a token without checking its signature. Undefined if the text is no token. */
export function readConversationToken(
  token: string,
): { readonly signed: string; readonly signature: string; readonly claims: TokenClaims } | undefined {
  const [, signed, signature] = TOKEN.exec(token) ?? [];
  if (signed === undefined || signature === undefined) return undefined;
  const read = claimsSchema.safeParse(readJsonText(Buffer.from(signed, 'base64url').toString()));
  if (!read.success) return undefined;
  const { k: secret, t: tenant, c: conversation, o: owner, s: scopes, e: expiresAt } = read.data;
  return { signed, signature, claims: { secret, tenant, conversation, owner, scopes, expiresAt } };
}
