import { z } from 'zod';
import { TurnfoldError } from '../domain/errors.ts';
import { FRAMING_TOKENS } from '../domain/limits.ts';
import { countMessage } from '../tokens/message-tokens.ts';
import { loadTokenCounter } from '../tokens/token-counter.ts';
import { readConversationLine } from '../wire/conversation-line.ts';
import { type DemoScript, TARGET_SHARE } from './demo-agent.ts';
import { type Playback, playBack } from './playback.ts';
import { writeQuestions } from './questions.ts';
import { workspaceTools } from './workspace-tools.ts';

const QUESTION_USABLE_TOKENS = 13_000;
const MAX_USABLE_TOKENS = 27_904;
/** a window is at most this share of what is appended, so that compaction has to happen */
const WINDOW_SHARE = 0.25;
const SYSTEM =
  'You explain the sources of this project to a newcomer. Look into the files with your tools before you answer, name the paths, and say what you decided to read and why.';

export async function loadQuestionScript(root: string): Promise<DemoScript> {
  return {
    system: SYSTEM,
    tools: workspaceTools(root),
    turns: await writeQuestions(root),
    usable: QUESTION_USABLE_TOKENS,
    opening: [],
  };
}

/**
 * A recorded conversation in a window that is at most a quarter of it, but for one so short that a pass could not get below
 * its target in such a window.
 * @throws invalid_input
 */
export async function loadPlaybackScript(line: string): Promise<DemoScript> {
  const conversation = readConversationLine(line, 1);
  const playback = playBack(conversation);
  if (playback.turns.length === 0) {
    throw new TurnfoldError('invalid_input', 'messages: no user message, so there is no turn to play back', {
      field: 'messages',
    });
  }
  const counter = await loadTokenCounter('o200k_base');
  const counts = await Promise.all(conversation.messages.map((message) => countMessage(counter, message)));
  const total = counts.reduce((sum, tokens) => sum + tokens, 0);
  const least = Math.ceil((await countFloor(playback, (text) => counter.count(text))) / TARGET_SHARE);
  return { ...playback, usable: Math.max(least, Math.min(MAX_USABLE_TOKENS, Math.floor(total * WINDOW_SHARE))) };
}

/** What no pass can remove: system prompt, tools and the message that is being answered. */
async function countFloor(
  { system, tools, turns }: Playback,
  count: (text: string) => Promise<number>,
): Promise<number> {
  const described = tools.map(({ name, description, input }) => ({
    name,
    description,
    parameters: z.toJSONSchema(input, { io: 'input' }),
  }));
  const asks = await Promise.all(turns.map(({ ask }) => count(ask)));
  return FRAMING_TOKENS + (await count(system)) + (await count(JSON.stringify(described))) + Math.max(...asks);
}
