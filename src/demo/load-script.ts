import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { FRAMING_TOKENS } from '../domain/limits.ts';
import type { Role } from '../domain/message.ts';
import { countMessage } from '../tokens/message-tokens.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import { readConversationLine } from '../wire/conversation-line.ts';
import { type DemoScript, maxResultTokens, TARGET_SHARE, THRESHOLD_SHARE } from './demo-agent.ts';
import { type Playback, playBack } from './playback.ts';
import { type CodeFolder, writeQuestions } from './questions.ts';
import { workspaceTools } from './workspace-agent.ts';

const QUESTION_USABLE_TOKENS = 13_000;
const MAX_USABLE_TOKENS = 27_904;
/** a window is at most this share of what is appended, so that compaction has to happen */
const WINDOW_SHARE = 0.25;
const SYSTEM =
  'You explain the sources of this project to a newcomer. Look into the files with your tools before you answer, name the paths, and say what you decided to read and why.';

/** A package has no sources: they stay in the checkout. */
export function isCheckout(root: string): boolean {
  return existsSync(join(root, 'src'));
}

/** Questions about the code of turnfold itself: its sources, or what a package holds of them. */
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
 * A recorded conversation in a window that is at most a quarter of it, but for one so short that a pass could not get below
 * its target in such a window.
 * @param number of its line in the file, from 1
 * @throws invalid_input
 */
export async function loadPlaybackScript(line: string, number: number): Promise<DemoScript> {
  const conversation = readConversationLine(line, number);
  const playback = playBack(conversation);
  if (playback.turns.length === 0) {
    throw new TurnfoldError('invalid_input', 'messages: no user message, so there is no turn to play back', {
      field: 'messages',
    });
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
 * In a smaller one a pass could not reach its target, which system prompt, tools and the live user message stay below, or the
 * next answer would already want another pass.
 */
function leastWindow(weights: readonly RoleWeight[], fixedTokens: number): number {
  const largest = (role: Role): number =>
    Math.max(0, ...weights.filter((weight) => weight.role === role).map(({ tokens }) => tokens));
  const floor = FRAMING_TOKENS + fixedTokens + largest('user');
  return Math.ceil(Math.max(floor / TARGET_SHARE, (floor + largest('assistant')) / THRESHOLD_SHARE));
}

/** The largest window that is at most its share of what gets into the log: the smaller it is, the more of a result is clipped. */
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

/** As a request holds them. */
function describeTools(tools: Playback['tools']): unknown {
  return tools.map(({ name, description, input }) => ({
    name,
    description,
    parameters: z.toJSONSchema(input, { io: 'input' }),
  }));
}
