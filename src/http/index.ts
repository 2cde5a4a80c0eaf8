export type { Scope } from '../domain/access-key.ts';
export { createHttpApp } from './app.ts';
export type {
  AnsweredRequest,
  HttpApp,
  HttpAppOptions,
  HttpLimits,
  MountedProtocol,
  ServerFacts,
} from './app-options.ts';
export type { Authenticate, Caller } from './caller.ts';
export { type HttpCode, HttpProblem, type Problem, type ProblemContext } from './problem.ts';
