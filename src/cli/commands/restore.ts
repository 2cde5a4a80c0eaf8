import type { RollbackInput, Version } from '../../api/client/index.ts';
import { fieldError } from '../../domain/errors.ts';
import type { NamedConversation } from '../../domain/ids.ts';
import { resolveLimits } from '../../domain/limits.ts';
import { completePolicy, mergePolicies } from '../../domain/policy.ts';
import { loadAgents } from '../load-agents.ts';
import { writeResult } from '../output.ts';
import { readPolicyFile } from '../policy-file.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';

export interface ReplacementOptions extends ConversationOptions {
  readonly operation?: string;
  /**
   * Path of a module that exports `agents`. With this path, the command refuses to create a version that exceeds the
   * hard limit of the conversation's agent.
   */
  readonly agents?: string;
  readonly policy?: string;
}

export interface RestoreOptions extends ReplacementOptions {
  readonly version: number;
  readonly keep?: boolean;
  readonly drop?: boolean;
}

export async function runRestore(context: ClientContext, id: string, options: RestoreOptions): Promise<number> {
  const { tenant, version, keep = false, drop = false } = options;
  if (keep === drop) {
    throw fieldError('invalid_input', '--keep', 'use either --keep or --drop, not both');
  }
  const name = { tenant, conversation: id };
  const replacement = await readReplacement(context, name, options);
  const made = await context.client.restore(name, { version, newer: keep ? 'keep' : 'drop', ...replacement });
  const what = `as version ${version}, everything newer ${keep ? 'kept' : 'archived'}`;
  return printVersion(context, made, { ...options, id, what });
}

export async function rollBack(
  context: ClientContext,
  id: string,
  turn: string,
  options: ReplacementOptions,
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const made = await context.client.rollBackTurn(name, turn, await readReplacement(context, name, options));
  return printVersion(context, made, { ...options, id, what: `as before turn ${turn}` });
}

async function readReplacement(
  context: ClientContext,
  name: NamedConversation,
  options: ReplacementOptions,
): Promise<RollbackInput> {
  return { operation: options.operation, hardTokens: await readLimit(context, name, options) };
}

/** Reads the hard limit of the conversation's agent in tokens, if `--agents` is given. */
async function readLimit(
  { client, output }: ClientContext,
  name: NamedConversation,
  { agents, policy }: ReplacementOptions,
): Promise<number | undefined> {
  if (agents === undefined) {
    if (policy === undefined) return undefined;
    throw fieldError('invalid_input', '--policy', 'also needs --agents <module>');
  }
  const state = await client.describe(name);
  const agent = (await loadAgents(agents, output)).find((found) => found.name === state.agent);
  if (agent === undefined) {
    const why = `${agents} does not export the agent ${state.agent}, to which this conversation belongs`;
    throw fieldError('unknown_agent', '--agents', why);
  }
  const merged = completePolicy(mergePolicies((await readPolicyFile(policy, output)).policy, agent.policy));
  return resolveLimits(merged, agent.model.profile).hardTokens;
}

interface MadeVersion extends ConversationOptions {
  readonly id: string;
  /** Describes for the output which version or turn the context was restored from. */
  readonly what: string;
}

function printVersion({ output }: ClientContext, version: Version, { json, id, what }: MadeVersion): number {
  const { number, tokensBefore, tokensAfter, archived } = version;
  const sizes = `${tokensBefore} → ${tokensAfter} tokens, ${archived} messages archived`;
  writeResult(output, json, version, `${id}  version ${number} (${what})  ${sizes}`);
  return 0;
}
