import type { Version } from '../../client/index.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import { resolveLimits } from '../../domain/limits.ts';
import { completePolicy, mergePolicies } from '../../domain/policy.ts';
import type { CommandContext } from '../command-context.ts';
import type { ConversationOptions } from '../command-options.ts';
import { readPolicyFile } from '../files.ts';
import { loadAgents } from '../load-agents.ts';
import { writeJson } from '../output.ts';

export interface LimitOptions extends ConversationOptions {
  /** module that exports `agents`: what is over the agent's hard limit is refused then */
  readonly agents?: string;
  /** as the workers have it */
  readonly policy?: string;
}

export interface RestoreOptions extends LimitOptions {
  readonly version: number;
  readonly keep?: boolean;
  readonly drop?: boolean;
}

/** Puts a kept version over the live one. @returns the exit code @throws as `client.restore` */
export async function restore(context: CommandContext, id: string, options: RestoreOptions): Promise<number> {
  const { tenant, version, keep = false, drop = false } = options;
  if (keep === drop) {
    const field = '--keep';
    throw new TurnfoldError('invalid_input', `${field}: say either --keep or --drop`, { field });
  }
  const name = { tenant, id };
  const limit = await readLimit(context, name, options);
  const made = await context.client.restore(name, { version, newer: keep ? 'keep' : 'drop', ...limit });
  const what = `as version ${version}, everything newer ${keep ? 'kept' : 'archived'}`;
  return printVersion(context, made, { ...options, id, what });
}

/** Takes a settled turn and all behind it out of the context. @returns the exit code @throws as `client.rollBackTurn` */
export async function rollBack(
  context: CommandContext,
  id: string,
  turn: string,
  options: LimitOptions,
): Promise<number> {
  const name = { tenant: options.tenant, id };
  const limit = await readLimit(context, name, options);
  const made = await context.client.rollBackTurn(name, turn, limit);
  return printVersion(context, made, { ...options, id, what: `as before turn ${turn}` });
}

async function readLimit(
  { client, output }: CommandContext,
  name: { readonly tenant: string; readonly id: string },
  { agents, policy }: LimitOptions,
): Promise<{ readonly hardTokens?: number }> {
  if (agents === undefined) {
    if (policy === undefined) return {};
    const field = '--policy';
    throw new TurnfoldError('invalid_input', `${field}: means nothing without --agents`, { field });
  }
  const state = await client.describe(name);
  const agent = (await loadAgents(agents, output)).find((found) => found.name === state.agent);
  if (agent === undefined) {
    const field = '--agents';
    throw new TurnfoldError('unknown_agent', `${field}: no agent ${state.agent} in ${agents}`, { field });
  }
  const merged = completePolicy(mergePolicies(await readPolicyFile(policy, output), agent.policy));
  const { hardTokens } = resolveLimits(merged, agent.model.profile);
  return hardTokens === undefined ? {} : { hardTokens };
}

interface MadeVersion extends ConversationOptions {
  readonly id: string;
  /** it shows */
  readonly what: string;
}

function printVersion({ output }: CommandContext, version: Version, { json, id, what }: MadeVersion): number {
  const { number, tokensBefore, tokensAfter, archived } = version;
  if (json) writeJson(output, version);
  else {
    const sizes = `${tokensBefore} → ${tokensAfter} tokens, ${archived} messages archived`;
    output.line(`${id}  version ${number} (${what})  ${sizes}`);
  }
  return 0;
}
