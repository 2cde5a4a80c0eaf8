import type { Scope } from '../../../src/domain/access-key.ts';
import type { Refusal } from './refusal.ts';

/** Facts of an operation, as the OpenAPI document and its row state them. */
export interface DescribedOperation {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  /** Rights that a caller needs, all of them. */
  readonly scopes: readonly Scope[];
  readonly hasBody: boolean;
}

/** Tokens of keys with few rights, by the right that a route misses first. */
export type Tokens = Readonly<Record<Scope, string>>;

/**
 * Rows of every operation: its key, its headers and its body. They are refused before the server reads what the request
 * names, so the names in the examples need not exist.
 */
export function commonRefusals({ operation, method, scopes, hasBody }: DescribedOperation, tokens: Tokens): Refusal[] {
  const [first = 'read'] = scopes;
  // A dry run changes nothing.
  const writes = operation === 'compact' ? { body: { dryRun: false } } : {};
  const isRead = method === 'get' || scopes.every((scope) => scope === 'read');
  return [
    {
      code: 'unauthorized',
      field: 'authorization',
      says: 'expected an access key: Authorization: Bearer <key>',
      server: 'keyed',
    },
    {
      code: 'forbidden',
      field: 'authorization',
      says: `this route needs a key with the scope ${first}`,
      server: 'keyed',
      headers: { authorization: `Bearer ${tokens[first]}` },
      ...writes,
    },
    {
      code: 'headers_too_large',
      says: 'the request has more than 16384 bytes of headers, the limit of this server',
      form: 'large_headers',
    },
    ...(hasBody ? BODY_REFUSALS : []),
    ...(isRead ? [] : [{ ...READ_ONLY, ...writes }]),
  ];
}

const BODY_REFUSALS: readonly Refusal[] = [
  {
    code: 'request_timeout',
    says: 'the body did not arrive within 50 ms',
    server: 'hasty',
    form: 'endless_body',
  },
  {
    code: 'body_too_large',
    says: 'the body has more than 10 bytes, the limit of this server',
    server: 'narrow',
    raw: '{"input": "more than ten bytes"}',
  },
  {
    code: 'unsupported_media_type',
    field: 'content-type',
    says: 'the body must be JSON. Send `Content-Type: application/json`',
    headers: { 'content-type': 'text/plain' },
    raw: 'hello',
  },
];

const READ_ONLY: Refusal = {
  code: 'read_only',
  says: 'this server only reads. Start it with --allow-changes to allow this request',
  server: 'read_only',
};

/** Answer of a server that has no place for a further stream or waiting request. */
export const NO_PLACE = {
  code: 'too_many_readers',
  says: '0 streams and waiting requests are open, the limit of this server',
  server: 'full',
} as const;
