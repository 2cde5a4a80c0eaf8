import type { RollbackInput, Version } from '../../client/index.ts';
import { TurnfoldError } from '../../domain/errors.ts';
import type { NamedConversation } from '../../domain/ids.ts';
import { resolveLimits } from '../../domain/limits.ts';
import { completePolicy, mergePolicies } from '../../domain/policy.ts';
import type { ConversationOptions } from '../command-options.ts';
import { loadAgents } from '../load-agents.ts';
import { writeJson } from '../output.ts';
import { readPolicyFile } from '../policy-file.ts';
import type { CommandContext } from '../with-client.ts';

export interface ReplacementOptions extends ConversationOptions {
  /** The same id again changes nothing. */
  readonly operation?: string;
  /** Module that exports `agents`. With it, a context over the agent's hard limit is refused. */
  readonly agents?: string;
  /** Policy file of the workers. */
  readonly policy?: string;
}

export interface RestoreOptions extends ReplacementOptions {
  readonly version: number;
  readonly keep?: boolean;
  readonly drop?: boolean;
}

/** Makes a kept version the live one. @returns the exit code */
export async function runRestore(context: CommandContext, id: string, options: RestoreOptions): Promise<number> {
  const { tenant, version, keep = false, drop = false } = options;
  if (keep === drop) {
    const field = '--keep';
    throw new TurnfoldError('invalid_input', `${field}: give either --keep or --drop`, { field });
  }
  const name = { tenant, conversation: id };
  const replacement = await readReplacement(context, name, options);
  const made = await context.client.restore(name, { version, newer: keep ? 'keep' : 'drop', ...replacement });
  const what = `as version ${version}, everything newer ${keep ? 'kept' : 'archived'}`;
  return printVersion(context, made, { ...options, id, what });
}

/** Archives a settled turn and everything after it. @returns the exit code */
export async function rollBack(
  context: CommandContext,
  id: string,
  turn: string,
  options: ReplacementOptions,
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const made = await context.client.rollBackTurn(name, turn, await readReplacement(context, name, options));
  return printVersion(context, made, { ...options, id, what: `as before turn ${turn}` });
}

async function readReplacement(
  context: CommandContext,
  name: NamedConversation,
  options: ReplacementOptions,
): Promise<RollbackInput> {
  const { operation } = options;
  const hardTokens = await readLimit(context, name, options);
  return { ...(operation !== undefined && { operation }), ...(hardTokens !== undefined && { hardTokens }) };
}

/** @returns the hard limit of the conversation's agent, if `--agents` is given */
async function readLimit(
  { client, output }: CommandContext,
  name: NamedConversation,
  { agents, policy }: ReplacementOptions,
): Promise<number | undefined> {
  if (agents === undefined) {
    if (policy === undefined) return undefined;
    const field = '--policy';
    throw new TurnfoldError('invalid_input', `${field}: needs --agents`, { field });
  }
  const state = await client.describe(name);
  const agent = (await loadAgents(agents, output)).find((found) => found.name === state.agent);
  if (agent === undefined) {
    const field = '--agents';
    throw new TurnfoldError(
      'unknown_agent',
      `${field}: ${agents} does not export the agent ${state.agent} of this conversation`,
      { field },
    );
  }
  const merged = completePolicy(mergePolicies((await readPolicyFile(policy, output)).policy, agent.policy));
  return resolveLimits(merged, agent.model.profile).hardTokens;
}

interface MadeVersion extends ConversationOptions {
  readonly id: string;
  /** The context that the version shows. */
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
