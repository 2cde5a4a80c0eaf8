import type { Agent } from '../domain/agent.ts';
import type { Model, ModelAnswer, ModelRequest } from '../domain/model.ts';
import { mergePolicies, type PolicyInput } from '../domain/policy.ts';
import { scriptedModel } from '../models/scripted.ts';
import { workspaceTools } from './workspace-tools.ts';

const HELP =
  'I follow a script and need no key. Ask me: `list <folder>`, `read <file>` or `search <text> in <folder>`.';

export interface WorkspaceAgentOptions {
  /** over its own, which is small so that passes can be seen */
  readonly policy?: PolicyInput;
  /** instead of the script */
  readonly model?: Model;
}

/**
 * An agent to try things with: its script understands three commands, and the tools really run them over the files under
 * `root`.
 */
export function createWorkspaceAgent(
  root: string,
  { policy = {}, model = scriptedModel({ decide }) }: WorkspaceAgentOptions = {},
): Agent {
  return {
    name: 'workspace',
    system: 'You answer questions about the files of a workspace. Use the tools; quote paths.',
    tools: workspaceTools(root),
    policy: mergePolicies({ tokenThreshold: 8_000, maxTokens: 4_000 }, policy),
    toolResultMaxTokens: 2_000,
    model,
  };
}

function decide({ messages }: ModelRequest): ModelAnswer {
  const last = messages.at(-1);
  if (last?.role === 'tool')
    return { content: `${last.content.split('\n').length} lines: ${last.content.slice(0, 400)}`, toolCalls: [] };
  const call = readCommand(last?.content ?? '');
  return call === undefined
    ? { content: HELP, toolCalls: [] }
    : { content: '', toolCalls: [{ id: 'call_1', ...call }] };
}

function readCommand(text: string): { name: string; arguments: string } | undefined {
  const [, name, rest] = /^(list|read|search)\s+(\S.*)$/.exec(text.trim()) ?? [];
  if (name === undefined || rest === undefined) return undefined;
  if (name !== 'search') return { name, arguments: JSON.stringify({ path: rest }) };
  const words = rest.split(/\s+/);
  const hasPath = words.length > 2 && words.at(-2) === 'in';
  const [path, wanted] = hasPath ? [words.at(-1), words.slice(0, -2).join(' ')] : ['.', rest];
  return { name, arguments: JSON.stringify({ path, text: wanted }) };
}
