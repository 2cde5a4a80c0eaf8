import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { fieldError } from '../../domain/errors.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import type { Role } from '../../domain/message.ts';
import { readConversationLine } from '../../wire/histories/conversation-line.ts';
import { countMessage } from '../../wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../../wire/tokens/token-counter.ts';
import { type DemoScript, maxResultTokens, type ScriptedTurn, TARGET_SHARE, THRESHOLD_SHARE } from './demo-agent.ts';
import { type Playback, playBack } from './playback.ts';
import { workspaceTools } from './workspace-agent.ts';

const QUESTION_USABLE_TOKENS = 13_000;
const MAX_USABLE_TOKENS = 27_904;
/** Size of the window as a fraction of the appended tokens. A larger window would need no compaction. */
const WINDOW_SHARE = 0.25;
const SYSTEM =
  'You explain the sources of this project to a newcomer. Look into the files with your tools before you answer, name the paths, and say what you decided to read and why.';

/** True in a checkout. An installed package has no folder `src`. */
export function isCheckout(root: string): boolean {
  return existsSync(join(root, 'src'));
}

/**
 * Loads questions about the code of turnfold, which is in `src` in a checkout and in `dist` in an installed package.
 */
export async function loadQuestionScript(root: string): Promise<DemoScript> {
  const code: CodeFolder = isCheckout(root) ? { path: 'src', extension: '.ts' } : { path: 'dist', extension: '.js' };
  return {
    system: SYSTEM,
    tools: workspaceTools(root),
    turns: await writeQuestions(root, code),
    usable: QUESTION_USABLE_TOKENS,
    opening: [],
  };
}

/**
 * Loads a recorded conversation as a script. The window has at most a quarter of the appended tokens. Only a short
 * conversation gets more, so that a compaction can succeed.
 */
export async function loadPlaybackScript(line: string, number: number): Promise<DemoScript> {
  const conversation = readConversationLine(line, number);
  const playback = playBack(conversation);
  if (playback.turns.length === 0) {
    const why = 'playback needs at least one user message, but the conversation has none';
    throw fieldError('invalid_input', 'messages', why);
  }
  const counter = await loadTokenCounter('o200k_base');
  const weights = await Promise.all(
    conversation.messages.map(async (message) => ({
      role: message.role,
      tokens: await countMessage(counter, message),
    })),
  );
  const fixed = await counter.count(playback.system + JSON.stringify(describeTools(playback.tools)));
  return { ...playback, usable: Math.max(leastWindow(weights, fixed), fitWindow(weights)) };
}

interface RoleWeight {
  readonly role: Role;
  readonly tokens: number;
}

/**
 * Returns the least possible window. System prompt, tools and user message must be smaller than the target, and the
 * next answer must not start a compaction.
 */
function leastWindow(weights: readonly RoleWeight[], fixedTokens: number): number {
  const largest = (role: Role): number =>
    Math.max(0, ...weights.filter((weight) => weight.role === role).map(({ tokens }) => tokens));
  const floor = FRAMING_TOKENS + fixedTokens + largest('user');
  return Math.ceil(Math.max(floor / TARGET_SHARE, (floor + largest('assistant')) / THRESHOLD_SHARE));
}

/**
 * Finds a window that fits. A smaller window clips tool results more, and that reduces the appended tokens again. So
 * several sizes are tried.
 */
function fitWindow(weights: readonly RoleWeight[]): number {
  const most = { system: 0, user: Infinity, assistant: Infinity, summary: Infinity };
  for (let usable = MAX_USABLE_TOKENS; ; ) {
    const limits = { ...most, tool: maxResultTokens(usable) };
    const appended = weights.reduce((sum, { role, tokens }) => sum + Math.min(tokens, limits[role]), 0);
    const fitting = Math.floor(appended * WINDOW_SHARE);
    if (fitting >= usable) return usable;
    usable = fitting;
  }
}

function describeTools(tools: Playback['tools']): unknown {
  return tools.map(({ name, description, input }) => ({
    name,
    description,
    parameters: z.toJSONSchema(input, { io: 'input' }),
  }));
}

interface CodeFolder {
  readonly path: 'src' | 'dist';
  readonly extension: '.ts' | '.js';
}

const ROOMS = [
  { path: 'domain', text: 'throw new TurnfoldError' },
  { path: 'compaction', text: 'export function' },
  { path: 'providers', text: 'export interface' },
  { path: 'store', text: 'redis.call' },
  { path: 'jobs/bullmq', text: 'bullmq' },
  { path: 'workers/turn', text: 'export async function' },
  { path: 'workers/compaction', text: 'readonly status' },
  { path: 'api/client', text: '@throws' },
  { path: 'wire/tokens', text: 'yield' },
  { path: 'telemetry', text: 'labelNames' },
  { path: 'host/local-redis', text: 'spawn' },
  { path: 'cli', text: 'output.line' },
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
  // These packages are read only if development dependencies of this list are not installed.
  'pino',
  'undici',
] as const;
const README_QUESTIONS = 9;
const EXCERPT_CHARACTERS = 9_000;

/**
 * Writes questions about code before questions about READMEs. A compaction can summarize tool calls about code. A
 * question about a README is a long message, of which a compaction copies a part.
 */
async function writeQuestions(root: string, code: CodeFolder): Promise<ScriptedTurn[]> {
  const rooms = await Promise.all(ROOMS.map((room) => roomTurns(root, code, room)));
  const found = await Promise.all(DEPENDENCIES.map(async (name) => ({ name, readme: await readReadme(root, name) })));
  const known = found.filter(({ readme }) => readme !== undefined).slice(0, README_QUESTIONS);
  const talk = known.map(({ name, readme = '' }) => readmeTurns(name, readme));
  return [...rooms.flat(), ...talk.flat()];
}

async function roomTurns(
  root: string,
  code: CodeFolder,
  { path: room, text }: (typeof ROOMS)[number],
): Promise<ScriptedTurn[]> {
  const path = `${code.path}/${room}`;
  const entries = await readdir(join(root, path), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && isCode(entry.name, code)).slice(0, FILES_A_ROOM);
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
    ask: `Where in ${path} does \`${text}\` occur? Name the places.`,
    rounds: [[{ name: 'search', arguments: { path, text } }]],
    answer: ([matches = '']) =>
      `\`${text}\` occurs in ${new Set(matches.split('\n').map((line) => line.split(':')[0])).size} files of ${path}.`,
  };
  return [overview, usage];
}

/** Writes a turn with one answer and no tool call, so there is nothing to summarize. */
function readmeTurns(name: string, readme: string): ScriptedTurn[] {
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
      answer: () => (headings.length === 0 ? 'It names none.' : headings.slice(0, 12).join('; ')),
    },
  ];
}

function firstComment(source: string): string {
  const comment = /\/\*\*[\s*]*([^*\n]+)/.exec(source)?.[1]?.trim();
  return comment ?? `${source.split('\n').length} lines without a leading comment.`;
}

function firstSentence(text: string): string {
  const prose = text.split('\n').find((line) => /^[A-Z][^<>[\]]{30,}/.test(line.trim()));
  return prose?.trim() ?? 'its first lines do not say.';
}

/** True for source files. False for the type declarations beside compiled files. */
function isCode(name: string, { extension }: CodeFolder): boolean {
  return name.endsWith(extension) && !name.endsWith('.d.ts');
}

/**
 * Reads the README of a package, which npm may have installed in a parent folder.
 * @returns undefined if it is not installed
 */
async function readReadme(root: string, dependency: string): Promise<string | undefined> {
  for (let folder = root; ; folder = dirname(folder)) {
    const files = await readdir(join(folder, 'node_modules', dependency)).catch(() => undefined);
    if (files !== undefined) {
      const name = files.find((file) => file.toLowerCase() === 'readme.md');
      const path = join(folder, 'node_modules', dependency, name ?? '');
      return name === undefined ? 'This package has no README.' : await readFile(path, 'utf8');
    }
    if (folder === dirname(folder)) return undefined;
  }
}
