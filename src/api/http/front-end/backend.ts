import type { Context } from 'hono';
import type { Scope } from '../../../domain/access-key.ts';
import { idSchema } from '../../../domain/ids.ts';
import type { ConversationName, TurnfoldClient } from '../../client/index.ts';
import type { AccessOptions } from '../access.ts';
import { serverFactsOf } from './server-facts.ts';

export interface FrontEndOptions extends BackendOptions, AccessOptions {}

export interface BackendOptions {
  /** Returns the client for a request. Throws a `TurnfoldError` to refuse the request. */
  readonly clientFor: (context: Context) => TurnfoldClient | Promise<TurnfoldClient>;
  /** Returns the tenant that a request may reach (default: the tenant of the caller). */
  readonly tenantFor?: ((context: Context) => string) | undefined;
  readonly agent: string | ((context: Context) => string);
}

export interface Backend {
  readonly client: TurnfoldClient;
  readonly agent: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly nameOf: (conversation: string) => ConversationName;
}

export async function openBackend({ clientFor, tenantFor, agent }: BackendOptions, context: Context): Promise<Backend> {
  const { caller, guard, checkConversation } = serverFactsOf(context);
  const tenant = tenantFor?.(context) ?? caller.tenant;
  const client = guard(await clientFor(context));
  // A chat is refused here, because a stream that fails after its status makes a page connect again and again.
  const { data: chat } = idSchema.safeParse(context.req.param('id'));
  if (chat !== undefined) await checkConversation({ tenant, conversation: chat });
  return {
    client,
    agent: typeof agent === 'string' ? agent : agent(context),
    tenant,
    scopes: caller.scopes,
    nameOf: (conversation) => ({ tenant, conversation }),
  };
}
