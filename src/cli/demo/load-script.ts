import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { TurnfoldError } from '../../domain/errors.ts';
import { FRAMING_TOKENS } from '../../domain/limits.ts';
import type { Role } from '../../domain/message.ts';
import { readConversationLine } from '../../wire/histories/conversation-line.ts';
import { countMessage } from '../../wire/tokens/message-tokens.ts';
import { loadTokenCounter } from '../../wire/tokens/token-counter.ts';
import { type DemoScript, maxResultTokens, TARGET_SHARE, THRESHOLD_SHARE } from './demo-agent.ts';
import { type Playback, playBack } from './playback.ts';
import { type CodeFolder, writeQuestions } from './questions.ts';
import { workspaceTools } from './workspace-agent.ts';

const QUESTION_USABLE_TOKENS = 13_000;
const MAX_USABLE_TOKENS = 27_904;
/** Maximum size of the demo's window as a fraction of the appended tokens, so that compaction must happen. */
const WINDOW_SHARE = 0.25;
const SYSTEM =
  'You explain the sources of this project to a newcomer. Look into the files with your tools before you answer, name the paths, and say what you decided to read and why.';

/** True in a checkout of the repository, false in an installed package, which has no `src`. */
export function isCheckout(root: string): boolean {
  return existsSync(join(root, 'src'));
}

/**
 * Loads the built-in script with questions about the code of turnfold. The code is in `src` in a checkout and in `dist`
 * in an installed package.
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
 * Loads a script that plays back a recorded conversation. The window has at most a quarter of the conversation's
 * tokens, or more if the conversation is too short for a compaction to succeed.
 * @param number line number of the conversation, from 1
 * @throws invalid_input if the line has no valid conversation
 */
export async function loadPlaybackScript(line: string, number: number): Promise<DemoScript> {
  const conversation = readConversationLine(line, number);
  const playback = playBack(conversation);
  if (playback.turns.length === 0) {
    throw new TurnfoldError(
      'invalid_input',
      'messages: playback needs at least one user message, but the conversation has none',
      {
        field: 'messages',
      },
    );
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
 * Returns the smallest window in which a compaction can reach its target size. System prompt, tools and the current
 * user message must be smaller than the target, and the next answer must not start another compaction.
 */
function leastWindow(weights: readonly RoleWeight[], fixedTokens: number): number {
  const largest = (role: Role): number =>
    Math.max(0, ...weights.filter((weight) => weight.role === role).map(({ tokens }) => tokens));
  const floor = FRAMING_TOKENS + fixedTokens + largest('user');
  return Math.ceil(Math.max(floor / TARGET_SHARE, (floor + largest('assistant')) / THRESHOLD_SHARE));
}

/**
 * Returns the largest window within `WINDOW_SHARE` of the appended tokens. A smaller window clips tool results more,
 * which reduces the appended tokens again, so the function tries several window sizes.
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

/** Describes the tools as a request does, to count their tokens. */
function describeTools(tools: Playback['tools']): unknown {
  return tools.map(({ name, description, input }) => ({
    name,
    description,
    parameters: z.toJSONSchema(input, { io: 'input' }),
  }));
}
