import type { Hono } from 'hono';
import type { TurnfoldClient } from '../client/index.ts';
import { agUiRoutes, openAgUi } from './ag-ui/ag-ui-app.ts';
import type { OnAbort } from './ag-ui/open-runs.ts';
import { openChat } from './ai-sdk/ai-sdk-app.ts';
import { aiSdkRoutes } from './ai-sdk/routes.ts';
import type { WhileWaiting } from './ai-sdk/while-waiting.ts';
import type { AnswerError, MountedProtocol, ProtocolRoute } from './app-options.ts';
import { compactRoutes, openCompact } from './compact/compact-app.ts';
import type { BackendOptions } from './front-end/backend.ts';
import { answerOpenAiError } from './openai/errors.ts';
import { openOpenAiRoutes } from './openai/openai-app.ts';
import { OPENAI_BASE, openAiRoutes } from './openai/routes.ts';
import { answerResponseError } from './responses/response-object.ts';
import { openResponses } from './responses/responses-app.ts';
import { responsesRoutes } from './responses/routes.ts';

export interface ProtocolOptions {
  /** Client through which the protocols work. */
  readonly client: TurnfoldClient;
  /** Agent of new conversations. Absent: only the protocols that need no agent. */
  readonly agent?: string | undefined;
  /** Treatment of a chat message that is sent while calls wait for answers, as in `AiSdkOptions` (`refuse`). */
  readonly whileWaiting?: WhileWaiting | undefined;
  /** Treatment of a run of AG-UI whose client aborts its request, as in `AgUiOptions` (`cancel`). */
  readonly onAbort?: OnAbort | undefined;
}

/** Creates the protocols. Each protocol reaches only the tenant of its caller. */
export function createProtocols({ client, agent, whileWaiting, onAbort }: ProtocolOptions): MountedProtocol[] {
  const compact = mount(openCompact(), compactRoutes, answerResponseError);
  if (agent === undefined) return [compact];
  const options: BackendOptions = { clientFor: () => client, agent };
  return [
    compact,
    mount(openChat({ ...options, ...(whileWaiting && { whileWaiting }) }), aiSdkRoutes),
    mount(openAgUi({ ...options, ...(onAbort && { onAbort }) }), agUiRoutes),
    mount(openResponses(options), responsesRoutes, answerResponseError),
    { ...mount(openOpenAiRoutes(options), openAiRoutes, answerOpenAiError), base: OPENAI_BASE },
  ];
}

function mount(app: Hono, routes: readonly ProtocolRoute[], answerError?: AnswerError): MountedProtocol {
  return { routes, fetch: (request, server) => app.fetch(request, server), ...(answerError && { answerError }) };
}
