export { type Agent, defineTool, type Tool, type ToolContext, type ToolOutput } from './domain/agent.ts';
export { type ErrorCode, TurnfoldError } from './domain/errors.ts';
export type { EventListener, WorkerEvent } from './domain/events.ts';
export { type Model, type ModelAnswer, ModelError, type ModelProfile, type ModelRequest } from './domain/model.ts';
export type { Policy, PolicyInput } from './domain/policy.ts';
export { SCRIPTED_PROFILE, scriptedModel } from './models/scripted.ts';
export { ROLES, type Role, startWorkers, type Workers, type WorkersOptions } from './runtime/start-workers.ts';
