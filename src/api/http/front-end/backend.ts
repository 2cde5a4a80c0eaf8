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
  /** The client as `clientFor` returned it, which sees more than the caller may. */
  readonly source: TurnfoldClient;
  readonly agent: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  readonly nameOf: (conversation: string) => ConversationName;
  /** Throws `access_denied` if the caller may not use the conversation as it is now. */
  readonly checkAccess: (conversation: string) => Promise<void>;
}

export async function openBackend({ clientFor, tenantFor, agent }: BackendOptions, context: Context): Promise<Backend> {
  const { caller, guard, checkConversation, checkConversationNow } = serverFactsOf(context);
  const tenant = tenantFor?.(context) ?? caller.tenant;
  const source = await clientFor(context);
  const client = guard(source);
  // A chat is refused here, because a stream that fails after its status makes a page connect again and again.
  const { data: chat } = idSchema.safeParse(context.req.param('id'));
  if (chat !== undefined) await checkConversation({ tenant, conversation: chat });
  return {
    client,
    source,
    agent: typeof agent === 'string' ? agent : agent(context),
    tenant,
    scopes: caller.scopes,
    nameOf: (conversation) => ({ tenant, conversation }),
    checkAccess: (conversation) => checkConversationNow({ tenant, conversation }),
  };
}
