import type { Context } from 'hono';
import type { TurnfoldClient } from '../client/index.ts';
import { aiSdkApp } from './ai-sdk/ai-sdk-app.ts';
import type { MountedProtocol } from './app-options.ts';
import type { Caller } from './caller.ts';

export interface ProtocolOptions {
  readonly client: TurnfoldClient;
  /** Name of the agent that answers new conversations. */
  readonly agent: string;
}

/** The protocols of front-ends, for `createHttpApp`. Each reaches only the tenant of its caller. */
export function createProtocols({ client, agent }: ProtocolOptions): MountedProtocol[] {
  const options = { clientFor: () => client, tenantFor: ({ env }: Context) => (env as Caller).tenant, agent };
  const app = aiSdkApp(options);
  return [{ path: '/v1/chat', scope: 'enqueue', fetch: (request, caller) => app.fetch(request, caller) }];
}
