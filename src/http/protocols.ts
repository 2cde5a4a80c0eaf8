import type { Context, Hono } from 'hono';
import type { TurnfoldClient } from '../client/index.ts';
import { agUiApp, agUiRoutes } from './ag-ui/ag-ui-app.ts';
import { aiSdkApp } from './ai-sdk/ai-sdk-app.ts';
import { aiSdkRoutes } from './ai-sdk/routes.ts';
import type { AnswerError, MountedProtocol, ProtocolRoute, ServerFacts } from './app-options.ts';
import { compactApp, compactRoutes } from './compact/compact-app.ts';
import type { FrontEndOptions } from './front-end/backend.ts';
import { answerResponseError } from './responses/response-error.ts';
import { responsesApp } from './responses/responses-app.ts';
import { responsesRoutes } from './responses/routes.ts';

export interface ProtocolOptions {
  /** Client through which the protocols work. */
  readonly client: TurnfoldClient;
  /** Name of the agent that answers new conversations. Absent: only the protocols that need no agent. */
  readonly agent?: string | undefined;
}

/** The protocols of front-ends, for `createHttpApp`. Each reaches only the tenant of its caller. */
export function createProtocols({ client, agent }: ProtocolOptions): MountedProtocol[] {
  const compact = mount(compactApp(), compactRoutes, answerResponseError);
  if (agent === undefined) return [compact];
  const options: FrontEndOptions = {
    clientFor: () => client,
    tenantFor: ({ env }: Context) => (env as ServerFacts).caller.tenant,
    agent,
  };
  return [
    compact,
    mount(aiSdkApp(options), aiSdkRoutes),
    mount(agUiApp(options), agUiRoutes),
    mount(responsesApp(options), responsesRoutes, answerResponseError),
  ];
}

function mount(app: Hono, routes: readonly ProtocolRoute[], answerError?: AnswerError): MountedProtocol {
  return { routes, fetch: (request, server) => app.fetch(request, server), ...(answerError && { answerError }) };
}
