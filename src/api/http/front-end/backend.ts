import type { Context } from 'hono';
import type { Scope } from '../../../domain/access-key.ts';
import type { ConversationName, TurnfoldClient } from '../../client/index.ts';
import type { AccessOptions } from '../access.ts';
import { serverFactsOf } from './server-facts.ts';

/** Settings of a front-end protocol in a server of another kind. */
export interface FrontEndOptions extends BackendOptions, AccessOptions {}

/** Client, tenant and agent of each request of a front-end protocol. */
export interface BackendOptions {
  /** Returns the client for a request. Throws a `TurnfoldError` to refuse the request. */
  readonly clientFor: (context: Context) => TurnfoldClient | Promise<TurnfoldClient>;
  /** Returns the tenant that a request may reach (default: the tenant of the caller). */
  readonly tenantFor?: ((context: Context) => string) | undefined;
  /** Name of the agent that answers new conversations, or a function that chooses it. */
  readonly agent: string | ((context: Context) => string);
}

/** The client of one request, with the names that the request may use. */
export interface Backend {
  readonly client: TurnfoldClient;
  readonly agent: string;
  readonly tenant: string;
  /** Rights of the caller. */
  readonly scopes: readonly Scope[];
  /** Names a conversation of the request's tenant. */
  readonly nameOf: (conversation: string) => ConversationName;
}

/** @throws the errors of `clientFor` */
export async function openBackend({ clientFor, tenantFor, agent }: BackendOptions, context: Context): Promise<Backend> {
  const { caller } = serverFactsOf(context);
  const tenant = tenantFor?.(context) ?? caller.tenant;
  return {
    client: await clientFor(context),
    agent: typeof agent === 'string' ? agent : agent(context),
    tenant,
    scopes: caller.scopes,
    nameOf: (conversation) => ({ tenant, conversation }),
  };
}
