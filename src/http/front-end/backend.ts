import type { Context } from 'hono';
import type { ConversationName, TurnfoldClient } from '../../client/index.ts';
import type { Scope } from '../../domain/access-key.ts';
import { readServerFacts } from './server-facts.ts';

/** Settings of a front-end protocol from the server that mounts it. */
export interface FrontEndOptions {
  /** Returns the client for a request. Throws a `TurnfoldError` to refuse the request. */
  readonly clientFor: (context: Context) => TurnfoldClient | Promise<TurnfoldClient>;
  /** Returns the tenant that a request may reach (default `_`). */
  readonly tenantFor?: ((context: Context) => string) | undefined;
  /** Name of the agent that answers new conversations, or a function that chooses it. */
  readonly agent: string | ((context: Context) => string);
}

/** The client of one request, with the names that the request may use. */
export interface Backend {
  readonly client: TurnfoldClient;
  readonly agent: string;
  readonly tenant: string | undefined;
  /** Rights of the caller. All of them in a server whose own guards come before the protocol. */
  readonly scopes: readonly Scope[];
  /** Names a conversation of the request's tenant. */
  readonly nameOf: (conversation: string) => ConversationName;
}

/** @throws the errors of `clientFor` */
export async function openBackend(
  { clientFor, tenantFor, agent }: FrontEndOptions,
  context: Context,
): Promise<Backend> {
  const tenant = tenantFor?.(context);
  const { caller } = await readServerFacts(context);
  return {
    client: await clientFor(context),
    agent: typeof agent === 'string' ? agent : agent(context),
    tenant,
    scopes: caller.scopes,
    nameOf: (conversation) => ({ tenant, conversation }),
  };
}
