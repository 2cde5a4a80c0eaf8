export { createHttpApp } from './app.ts';
export type { AnsweredRequest, HttpApp, HttpAppOptions, HttpLimits, MountedProtocol } from './app-options.ts';
export type { Authenticate, Caller, Scope } from './caller.ts';
export { type HttpCode, HttpProblem, type Problem, type ProblemContext } from './problem.ts';
