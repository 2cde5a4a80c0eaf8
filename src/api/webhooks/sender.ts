import { WEBHOOK_LIMITS } from '../../domain/webhook.ts';
import { createCheckedLookup, hostOf, isPublicAddress, RefusedAddressError } from './addresses.ts';

interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/**
 * `isFinal`: the receiver wants no more requests. `why` has no part of the response, because a person who adds webhooks
 * could read from services that only workers reach.
 */
export type SendOutcome =
  | { readonly status: 'delivered' }
  | { readonly status: 'failed'; readonly why: string; readonly isFinal: boolean };

export interface WebhookSender {
  send(webhook: WebhookRequest): Promise<SendOutcome>;
  close(): Promise<void>;
}

export interface SenderOptions {
  /** Allows http, and private, loopback and link-local addresses. */
  readonly allowsPrivate: boolean;
  readonly resolve?: Parameters<typeof createCheckedLookup>[1];
  readonly isAllowed?: (address: string) => boolean;
}

const CONNECT_MS = 5_000;
const GONE = 410;

/** Follows no redirect, because a redirect could lead to a private address. */
export function createWebhookSender({ allowsPrivate, resolve, isAllowed }: SenderOptions): WebhookSender {
  const allows = isAllowed ?? (allowsPrivate ? () => true : isPublicAddress);
  /** Loads undici with the first webhook. It takes 0.1 s of CPU time, and most workers send none. */
  const openHttp = async () => {
    const { Agent, request } = await import('undici');
    const dispatcher = new Agent({
      connect: { lookup: createCheckedLookup(allows, resolve), timeout: CONNECT_MS },
      headersTimeout: WEBHOOK_LIMITS.requestMs,
      bodyTimeout: WEBHOOK_LIMITS.requestMs,
      maxHeaderSize: 16_384,
    });
    return { dispatcher, request };
  };
  let http: ReturnType<typeof openHttp> | undefined;
  return {
    async send({ url, headers, body, signal }) {
      const target = new URL(url);
      if (!allowsPrivate && target.protocol !== 'https:') return fail('only https is allowed');
      // A connection to a literal address resolves no name, so the address is checked here.
      if (isLiteral(target) && !allows(hostOf(target))) return fail(describeFailure(new RefusedAddressError()));
      const limit = AbortSignal.timeout(WEBHOOK_LIMITS.requestMs);
      try {
        http ??= openHttp().catch((error: unknown) => {
          http = undefined;
          throw error;
        });
        const { dispatcher, request } = await http;
        const response = await request(target, {
          dispatcher,
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'turnfold-webhooks' },
          body,
          signal: AbortSignal.any([signal, limit]),
        });
        const { statusCode } = response;
        // Reads a short response, so that the connection can be used again.
        await response.body.dump({ limit: WEBHOOK_LIMITS.responseBytes }).catch(() => undefined);
        if (statusCode >= 200 && statusCode < 300) return { status: 'delivered' };
        return { ...fail(`status ${statusCode}`), isFinal: statusCode === GONE };
      } catch (error) {
        return fail(limit.aborted ? 'timeout' : describeFailure(error));
      }
    },
    close: async () => (await http)?.dispatcher.destroy(),
  };
}

function isLiteral(url: URL): boolean {
  return url.hostname.startsWith('[') || /^[\d.]+$/.test(url.hostname);
}

function fail(why: string): { readonly status: 'failed'; readonly why: string; readonly isFinal: false } {
  return { status: 'failed', why, isFinal: false };
}

function describeFailure(error: unknown): string {
  if (error instanceof RefusedAddressError) return 'private or special address refused';
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code.slice(0, 100) : 'the connection failed';
}
