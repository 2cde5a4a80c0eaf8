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

interface UsedModels {
  readonly agents: readonly Agent[];
  readonly summarizers?: readonly Model[];
  readonly policy?: PolicyInput;
}

/** Lists the used models that their provider retires within 60 days. */
export function listRetirements(used: UsedModels, now: number): Retirement[] {
  return findRetirements(listProfiles(used), now);
}

export function describeRetirements(used: UsedModels, now: number): string[] {
  return listRetirements(used, now).map(describeRetirement);
}

export function listProfiles({ agents, summarizers = [], policy = {} }: UsedModels): readonly NamedProfile[] {
  const models = [...agents.map(({ model }) => model), ...summarizers];
  const named = [policy, ...agents.map((agent) => agent.policy)].flatMap(listNamedProfiles);
  return [...models.map(({ profile }) => profile), ...named];
}
