export type { Scope } from '../domain/access-key.ts';
export { agUiApp } from './ag-ui/ag-ui-app.ts';
export { type AiSdkOptions, aiSdkApp } from './ai-sdk/ai-sdk-app.ts';
export { createHttpApp } from './app.ts';
export type {
  AnsweredRequest,
  HttpApp,
  HttpAppOptions,
  HttpLimits,
  MountedProtocol,
  ProtocolRoute,
  ServerFacts,
} from './app-options.ts';
export { authenticateByKey } from './bearer-keys.ts';
export type { Authenticate, Caller } from './caller.ts';
export { type CompactOptions, compactApp } from './compact/compact-app.ts';
export type { FrontEndOptions } from './front-end/backend.ts';
export { type HttpCode, HttpProblem, type Problem, type ProblemContext } from './problem.ts';
export { createProtocols, type ProtocolOptions } from './protocols.ts';
export { responsesApp } from './responses/responses-app.ts';
