/** An agent that lists and reads the files of the folder it is started in. */
import { readdir, readFile } from 'node:fs/promises';
import { resolve, sep } from 'node:path';
import { defineAgent, defineTool, scriptedModel, type Tool } from 'turnfold';
import { z } from 'zod';

const ROOT = process.cwd();
const path = z.string().describe('path below the workspace');

/** @throws Error for a path outside the workspace */
function resolvePath(given: string): string {
  const full = resolve(ROOT, given);
  if (full !== ROOT && !full.startsWith(ROOT + sep)) throw new Error(`${given} is outside the workspace`);
  return full;
}

const list = defineTool({
  name: 'list',
  description: 'List the files and folders of a folder.',
  input: z.object({ path }),
  run: async (input) => {
    const entries = await readdir(resolvePath(input.path), { withFileTypes: true });
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).join('\n');
  },
});

const read = defineTool({
  name: 'read',
  description: 'Read a text file.',
  input: z.object({ path }),
  run: async (input) => await readFile(resolvePath(input.path), 'utf8'),
});

/** Understands `list <path>` and `read <path>`. A real model would decide by itself. */
const model = scriptedModel({
  decide: ({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'tool')
      return { content: `${last.content.split('\n').length} lines: ${last.content.slice(0, 400)}` };
    const [, name, given] = /^(list|read)\s+(\S+)$/.exec(last?.content.trim() ?? '') ?? [];
    if (name === undefined || given === undefined) return { content: 'Ask me: `list <folder>` or `read <file>`.' };
    return { toolCalls: [{ name, arguments: { path: given } }] };
  },
});

export const agents = [
  defineAgent({
    name: 'workspace',
    system: 'You answer questions about the files of a workspace. Use the tools and quote paths.',
    model,
    tools: [list, read] as Tool[],
    // Small limits, so that a few long answers start a compaction.
    policy: { tokenThreshold: 8_000, maxTokens: 4_000 },
    toolResultMaxTokens: 2_000,
  }),
];
