import type { DecisionView, ProposalView, RollbackInput, Version } from '../../api/client/index.ts';
import { fieldError, isTurnfoldError, TurnfoldError } from '../../domain/errors.ts';
import type { NamedConversation } from '../../domain/ids.ts';
import { resolveLimits } from '../../domain/limits.ts';
import { isMapping } from '../../domain/parse.ts';
import { completePolicy, mergePolicies } from '../../domain/policy.ts';
import { nameFile, readTextFile } from '../files.ts';
import { loadAgents } from '../load-agents.ts';
import { writeJson, writeResult } from '../output.ts';
import { readPolicyFile } from '../policy-file.ts';
import type { ClientContext, ConversationOptions } from '../run-command.ts';
import { renameField } from '../typed-errors.ts';

interface ReplacementOptions extends ConversationOptions {
  readonly operation?: string;
  /** Module of agents. With it, a version over the hard limit of the conversation's agent is refused. */
  readonly agents?: string;
  readonly policy?: string;
}

interface RestoreOptions extends ReplacementOptions {
  readonly version: number;
  readonly keep?: boolean;
  readonly drop?: boolean;
}

export async function restore(context: ClientContext, id: string, options: RestoreOptions): Promise<number> {
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

export async function rollBackTo(
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

async function readLimit(
  { client, output }: ClientContext,
  name: NamedConversation,
  { agents, policy }: ReplacementOptions,
): Promise<number | undefined> {
  if (agents === undefined) {
    if (policy === undefined) return undefined;
    throw fieldError('invalid_input', '--policy', 'works only together with --agents <module>. Add --agents');
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
  readonly what: string;
}

function printVersion({ output }: ClientContext, version: Version, { json, id, what }: MadeVersion): number {
  const { number, tokensBefore, tokensAfter, archived } = version;
  const sizes = `${tokensBefore} → ${tokensAfter} tokens, ${archived} messages archived`;
  writeResult(output, json, version, `${id}  version ${number} (${what})  ${sizes}`);
  return 0;
}

interface DecisionOptions extends ConversationOptions {
  /** Id of the proposal. Absent: the proposal that waits now. */
  readonly proposal?: string;
  readonly operation?: string;
  readonly wait: number;
}

interface ApproveOptions extends DecisionOptions {
  /** A YAML or JSON file with replacement texts for summaries, by message range. */
  readonly edits?: string;
}

interface RejectOptions extends DecisionOptions {
  readonly reason?: string;
}

export async function showProposal(
  { client, output }: ClientContext,
  id: string,
  { tenant, json }: ConversationOptions,
): Promise<number> {
  const found = await client.proposal({ tenant, conversation: id });
  if (found !== undefined) writeResult(output, json, found, ...describeProposal(found));
  else writeResult(output, json, { tenant, conversation: id, proposal: null }, `${id}  no proposal waits for approval`);
  return 0;
}

export async function approve(
  context: ClientContext,
  id: string,
  { edits: path, ...options }: ApproveOptions,
): Promise<number> {
  const edits = path === undefined ? {} : await readEdits(path);
  const name = { tenant: options.tenant, conversation: id };
  const proposal = await findProposal(context, name, options);
  const decision = await context.client
    .approve(name, proposal, { edits, operation: options.operation, waitMs: options.wait * 1_000 })
    .catch((error: unknown) => {
      throw path === undefined ? error : nameEdit(error, path);
    });
  return printDecision(context, id, decision, { ...options, proposal });
}

export async function reject(
  context: ClientContext,
  id: string,
  { reason, ...options }: RejectOptions,
): Promise<number> {
  const name = { tenant: options.tenant, conversation: id };
  const input = { reason, operation: options.operation, waitMs: options.wait * 1_000 };
  const proposal = await findProposal(context, name, options);
  const decision = await context.client.reject(name, proposal, input);
  return printDecision(context, id, decision, { ...options, proposal });
}

async function findProposal(
  { client }: ClientContext,
  name: NamedConversation,
  { proposal }: DecisionOptions,
): Promise<string> {
  if (proposal !== undefined) return proposal;
  const found = await client.proposal(name);
  if (found !== undefined) return found.proposal;
  throw fieldError('not_found', 'conversation', `no proposal waits for approval in ${name.conversation}`);
}

/** The client checks the texts. @throws not_found, or invalid_input if the file contains no object */
async function readEdits(path: string): Promise<Record<string, string>> {
  const text = { name: nameFile(path), field: path, code: 'invalid_input' } as const;
  const { parseYaml } = await import('../../host/yaml-document.ts');
  const { value } = parseYaml(await readTextFile(path), text);
  if (isMapping(value)) return value as Record<string, string>;
  throw new TurnfoldError(
    text.code,
    `${text.name}: expected a mapping from message range to text, such as \`5-9: …\``,
    {
      field: path,
    },
  );
}

/** Names the file and the range instead of an API field. */
function nameEdit(error: unknown, path: string): unknown {
  if (!isTurnfoldError(error)) return error;
  const [field, ...range] = error.field?.split('.') ?? [];
  return field === 'edits' ? renameField(error, [nameFile(path), ...range].join(': ')) : error;
}

function printDecision(
  { output }: ClientContext,
  id: string,
  decision: DecisionView,
  { proposal, json, wait }: DecisionOptions & { readonly proposal: string },
): number {
  const { state, version, operation } = decision;
  if (json) writeJson(output, { conversation: id, ...decision });
  else if (state === 'pending') {
    const again = `--proposal ${proposal} --operation ${operation}`;
    output.line(
      `${id}  the decision is stored for a compaction worker. To see the outcome, repeat the command with ${again}`,
    );
  } else output.line(version === undefined ? `${id}  ${state}` : `${id}  ${state}, version ${version}`);
  return state === 'pending' && wait > 0 ? 1 : 0;
}

function describeProposal(found: ProposalView): string[] {
  const { conversation, proposal, over, head, strategy, reasons, archived, tokensBefore, tokensAfter } = found;
  const { summaries, changes, explained, isDecided } = found;
  const made = `made ${toIso(found.proposedAt)}, expires ${toIso(found.expiresAt)}`;
  const others = changes.filter(({ after }) => after !== 'summary' && after !== 'raw');
  return [
    `${conversation}  proposal ${proposal} over version ${over}, up to message ${head}`,
    `${strategy} (${reasons.join(', ')}): ${tokensBefore} → ${tokensAfter} tokens, ${archived} messages archived`,
    ...(explained.length > 0 ? [explained.join(', ')] : []),
    `${made}${isDecided ? ', decided and waiting for a worker' : ''}`,
    ...others.map(({ from, to, after }) => `\n${from === to ? from : `${from}-${to}`}  ${after}`),
    ...summaries.map(({ range, tokens, model, text }) => `\n${range}  summary, ${tokens} tokens, ${model}\n${text}`),
  ];
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}
