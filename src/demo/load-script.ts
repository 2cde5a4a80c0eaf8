import { loadTokenCounter } from '../tokens/token-counter.ts';
import { readConversationLine } from '../wire/conversation-line.ts';
import type { DemoScript } from './demo-agent.ts';
import { playBack } from './playback.ts';
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

/** A recorded conversation in a window that is at most a quarter of it. */
export async function loadPlaybackScript(line: string): Promise<DemoScript> {
  const conversation = readConversationLine(line, 1);
  const playback = playBack(conversation);
  const counter = await loadTokenCounter('o200k_base');
  const counts = await Promise.all(conversation.messages.map((message) => counter.count(message.content)));
  const total = counts.reduce((sum, tokens) => sum + tokens, 0);
  const fixed = await counter.count(playback.system);
  // Below this the system prompt alone would be most of what a pass may leave.
  const least = fixed * 4 + 1_000;
  return { ...playback, usable: Math.max(least, Math.min(MAX_USABLE_TOKENS, Math.floor(total * WINDOW_SHARE))) };
}
