import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { z } from 'zod';
import { type Agent, defineTool, type Tool } from '../../domain/agent.ts';
import type { Model, ModelAnswer, ModelRequest } from '../../domain/model.ts';
import { mergePolicies, type PolicyInput } from '../../domain/policy.ts';
import { scriptedModel } from '../../providers/scripted.ts';

const HELP =
  'I follow a script and need no key. Ask me: `list <folder>`, `read <file>` or `search <text> in <folder>`.';

interface WorkspaceAgentOptions {
  /** Overrides the agent's own policy, whose small limits make compactions visible. */
  readonly policy?: PolicyInput;
  /** Model to use instead of the built-in script, which understands three commands. */
  readonly model?: Model;
}

export function createWorkspaceAgent(
  root: string,
  { policy = {}, model = scriptedModel({ decide }) }: WorkspaceAgentOptions = {},
): Agent {
  return {
    name: 'workspace',
    system: 'You answer questions about the files of a workspace. Use the tools and quote paths.',
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

const MAX_MATCHES = 60;
const SKIPPED = new Set(['node_modules', '.git', 'dist', 'coverage']);

/** Creates tools that read nothing outside of `root`. */
export function workspaceTools(root: string): Tool[] {
  const list = defineTool({
    name: 'list',
    description: 'List the files and folders of a folder, with sizes in bytes.',
    input: z.object({ path: z.string() }),
    run: async ({ path }) => await listFolder(inside(root, path)),
  });
  const read = defineTool({
    name: 'read',
    description: 'Read a text file, whole or from a line on.',
    input: z.object({
      path: z.string(),
      fromLine: z.number().int().min(1).optional(),
      lines: z.number().int().min(1).optional(),
    }),
    run: async ({ path, fromLine = 1, lines }) => {
      const all = (await readFile(inside(root, path), 'utf8')).split('\n');
      return all.slice(fromLine - 1, lines === undefined ? undefined : fromLine - 1 + lines).join('\n');
    },
  });
  const search = defineTool({
    name: 'search',
    description: 'Search the text files below a folder for a string. Returns lines of path:line: text.',
    input: z.object({ path: z.string(), text: z.string().min(1) }),
    run: async ({ path, text }) => await searchFiles(root, inside(root, path), text),
  });
  return [list, read, search] as Tool[];
}

function inside(root: string, path: string): string {
  const full = resolve(root, path);
  if (full !== root && !full.startsWith(root + sep))
    throw new Error(`the path ${path} is outside the workspace. Use a path below the workspace`);
  return full;
}

async function listFolder(folder: string): Promise<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  const lines = await Promise.all(
    entries.map(async (entry) =>
      entry.isDirectory() ? `${entry.name}/` : `${entry.name}  ${(await stat(join(folder, entry.name))).size}`,
    ),
  );
  return lines.toSorted().join('\n');
}

async function searchFiles(root: string, folder: string, text: string): Promise<string> {
  const matches: string[] = [];
  for await (const path of textFiles(folder)) {
    const lines = (await readFile(path, 'utf8')).split('\n');
    lines.forEach((line, index) => {
      if (line.includes(text)) matches.push(`${relative(root, path)}:${index + 1}: ${line.trim()}`);
    });
    if (matches.length >= MAX_MATCHES) break;
  }
  return matches.length === 0 ? 'no matches' : matches.slice(0, MAX_MATCHES).join('\n');
}

async function* textFiles(folder: string): AsyncGenerator<string> {
  const entries = (await readdir(folder, { withFileTypes: true })).toSorted((a, b) => a.name.localeCompare(b.name));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* textFiles(path);
    else if (entry.isFile() && /\.(ts|js|md|json|lua|ya?ml)$/.test(entry.name)) yield path;
  }
}
