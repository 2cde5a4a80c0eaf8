import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ScriptedTurn } from './script.ts';

/** Rooms of this project that the agent is asked about, with what is searched for in each. */
const ROOMS = [
  { path: 'src/domain', text: 'throw new TurnfoldError' },
  { path: 'src/domain/compaction', text: 'export function' },
  { path: 'src/domain/ports', text: 'export interface' },
  { path: 'src/store', text: 'redis.call' },
  { path: 'src/queue', text: 'bullmq' },
  { path: 'src/workers/turn', text: 'export async function' },
  { path: 'src/workers/compaction', text: 'readonly status' },
  { path: 'src/client', text: '@throws' },
  { path: 'src/tokens', text: 'yield' },
  { path: 'src/telemetry', text: 'labelNames' },
  { path: 'src/local-redis', text: 'spawn' },
  { path: 'src/cli', text: 'output.line' },
] as const;

const FILES_A_ROOM = 4;
const DEPENDENCIES = [
  'ioredis',
  'fast-check',
  'commander',
  'prom-client',
  'bullmq',
  'tiktoken',
  'asciichart',
  'zod',
  'yaml',
] as const;
const EXCERPT_CHARACTERS = 9_000;

/**
 * The demo's conversation: first questions about this project's own sources, which the agent answers with its tools, then a
 * talk about the READMEs of the dependencies, in which there is nothing to summarize: both kinds of compaction happen.
 */
export async function writeQuestions(root: string): Promise<ScriptedTurn[]> {
  const rooms = await Promise.all(ROOMS.map((room) => roomTurns(root, room)));
  const talk = await Promise.all(DEPENDENCIES.map((name) => readmeTurns(root, name)));
  return [...rooms.flat(), ...talk.flat()];
}

async function roomTurns(root: string, { path, text }: (typeof ROOMS)[number]): Promise<ScriptedTurn[]> {
  const entries = await readdir(join(root, path), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts')).slice(0, FILES_A_ROOM);
  const overview: ScriptedTurn = {
    ask: `What lies in ${path}, and what do its first files do?`,
    rounds: [
      [{ name: 'list', arguments: { path } }],
      files.map((file) => ({ name: 'read', arguments: { path: `${path}/${file.name}`, lines: 160 } })),
    ],
    remarks: [`I'll list ${path} first.`],
    answer: ([listing = '', ...contents]) =>
      `${path} holds ${listing.split('\n').length} entries. ${contents.map((content, index) => `${files[index]?.name}: ${firstComment(content)}`).join(' ')}`,
  };
  const usage: ScriptedTurn = {
    ask: `Where in ${path} does \`${text}\` stand? Name the places.`,
    rounds: [[{ name: 'search', arguments: { path, text } }]],
    answer: ([matches = '']) =>
      `\`${text}\` stands in ${new Set(matches.split('\n').map((line) => line.split(':')[0])).size} files of ${path}.`,
  };
  return [overview, usage];
}

/** Two turns that quote a README in the question: there is one answer behind each, and nothing to summarize. */
async function readmeTurns(root: string, name: string): Promise<ScriptedTurn[]> {
  const readme = await readReadme(join(root, 'node_modules', name));
  const excerpt = readme.slice(0, EXCERPT_CHARACTERS).toWellFormed();
  const headings = [...readme.matchAll(/^#+ +(.+)$/gm)].map((match) => match[1]?.trim() ?? '');
  return [
    {
      ask: `We depend on ${name}. Its README begins like this:\n\n${excerpt}\n\nWhat is it for?`,
      rounds: [],
      answer: () => `${name}: ${firstSentence(excerpt)}`,
    },
    {
      ask: `And which chapters does the README of ${name} have?`,
      rounds: [],
      answer: () => (headings.length === 0 ? 'None that it names.' : headings.slice(0, 12).join('; ')),
    },
  ];
}

function firstComment(source: string): string {
  const comment = /\/\*\*\s*\n?\s*\*?\s*([^*\n]+)/.exec(source)?.[1]?.trim();
  return comment ?? `${source.split('\n').length} lines without a leading comment.`;
}

function firstSentence(text: string): string {
  const prose = text.split('\n').find((line) => /^[A-Z][^<>[\]]{30,}/.test(line.trim()));
  return prose?.trim() ?? 'it does not say in its first lines.';
}

async function readReadme(folder: string): Promise<string> {
  const name = (await readdir(folder)).find((file) => file.toLowerCase() === 'readme.md');
  return name === undefined ? 'This package has no README.' : await readFile(join(folder, name), 'utf8');
}
