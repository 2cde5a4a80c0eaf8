import type { Context, Hono } from 'hono';
import type { TurnfoldClient } from '../client/index.ts';
import { agUiApp } from './ag-ui/ag-ui-app.ts';
import { aiSdkApp } from './ai-sdk/ai-sdk-app.ts';
import type { MountedProtocol, ServerFacts } from './app-options.ts';
import { compactApp } from './compact/compact-app.ts';
import type { FrontEndOptions } from './front-end/backend.ts';
import { responsesApp } from './responses/responses-app.ts';

export interface ProtocolOptions {
  /** Client through which the protocols work. */
  readonly client: TurnfoldClient;
  /** Name of the agent that answers new conversations. Absent: only the protocols that need no agent. */
  readonly agent?: string | undefined;
}

/** The protocols of front-ends, for `createHttpApp`. Each reaches only the tenant of its caller. */
export function createProtocols({ client, agent }: ProtocolOptions): MountedProtocol[] {
  const compact = mount('/v1/responses/compact', compactApp());
  if (agent === undefined) return [compact];
  const options: FrontEndOptions = {
    clientFor: () => client,
    tenantFor: ({ env }: Context) => (env as ServerFacts).caller.tenant,
    agent,
  };
  return [
    compact,
    mount('/v1/chat', aiSdkApp(options)),
    mount('/v1/ag-ui', agUiApp(options)),
    mount('/v1/responses', responsesApp(options)),
  ];
}

function mount(path: `/${string}`, app: Hono): MountedProtocol {
  return { path, scopes: ['read', 'enqueue', 'answer'], fetch: (request, server) => app.fetch(request, server) };
}
