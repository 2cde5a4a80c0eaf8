import type { Message } from '../../domain/message.ts';
import type { QualityScore } from './score.ts';

/** A condition that a context must meet, or its recall means nothing. */
export type Guard = 'budget' | 'rounds' | 'anchored' | 'density' | 'invented';

export interface GuardedContext {
  readonly score: QualityScore;
  /** Share of the source's characters that belong to identifiers. */
  readonly sourceDensity: number;
  readonly tokens: number;
  readonly maxTokens: number;
  /** The whole context in order. Empty if the context is plain text, which has no tool calls. */
  readonly messages: readonly Message[];
}

const MIN_ANCHORED_SHARE = 0.2;
const MAX_DENSITY = 0.4;
const MAX_INVENTED = 0.12;

/** Lists the guards that a context breaks: a list of all identifiers has a high recall, but breaks two of them. */
export function findBrokenGuards({ score, sourceDensity, tokens, maxTokens, messages }: GuardedContext): Guard[] {
  const broken: Readonly<Record<Guard, boolean>> = {
    budget: tokens > maxTokens,
    rounds: !areRoundsWhole(messages),
    anchored: score.recall > 0 && score.anchored / score.recall < MIN_ANCHORED_SHARE,
    density: score.density > Math.max(2 * sourceDensity, MAX_DENSITY),
    invented: score.invented > MAX_INVENTED,
  };
  return (Object.keys(broken) as Guard[]).filter((guard) => broken[guard]);
}

/** Checks that each call has its result and each result follows its call. */
function areRoundsWhole(messages: readonly Message[]): boolean {
  const open = new Set<string>();
  for (const { toolCalls = [], toolCallId } of messages) {
    for (const { id } of toolCalls) open.add(id);
    if (toolCallId !== undefined && !open.delete(toolCallId)) return false;
  }
  return open.size === 0;
}
