import type { Agent } from '../domain/agent.ts';
import type { Model } from '../domain/model.ts';
import type { PolicyInput } from '../domain/policy.ts';
import {
  describeRetirement,
  findRetirements,
  listNamedProfiles,
  type NamedProfile,
  type Retirement,
} from '../providers/retirements.ts';

/** Models of a process, wherever its settings name them. */
export interface UsedModels {
  readonly agents: readonly Agent[];
  readonly summarizers?: readonly Model[];
  readonly policy?: PolicyInput;
}

/** Lists the models that are retired within 60 days. @param now ms since epoch */
export function listRetirements(used: UsedModels, now: number): Retirement[] {
  return findRetirements(listProfiles(used), now);
}

/** Describes the models that are retired within 60 days, one sentence each. @param now ms since epoch */
export function describeRetirements(used: UsedModels, now: number): string[] {
  return listRetirements(used, now).map(describeRetirement);
}

/** Lists the profiles of all models, also of those that a policy names. */
export function listProfiles({ agents, summarizers = [], policy = {} }: UsedModels): readonly NamedProfile[] {
  const models = [...agents.map(({ model }) => model), ...summarizers];
  const named = [policy, ...agents.map((agent) => agent.policy)].flatMap(listNamedProfiles);
  return [...models.map(({ profile }) => profile), ...named];
}
