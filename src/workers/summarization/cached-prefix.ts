import { buildInSlices } from '../../compaction/context.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { type Message, withoutReasoning } from '../../domain/message.ts';
import { readParts } from '../../domain/parts.ts';
import type { CachedPrefix } from '../../domain/summarizer.ts';
import type { SummarizationTask } from '../../jobs/ports.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import { type PreparedAgent, prepareAsLastTurn } from '../prepared-agent.ts';
import { hintProvider } from '../turn/model-request.ts';
import type { SummarizationPorts } from '../worker-ports.ts';

interface PrefixPlace {
  readonly conversation: ConversationRef;
  readonly sequence: SummarizationTask['sequence'];
  /** Number of earlier summaries that the summarizer updates. */
  readonly summaries: number;
}

/**
 * Reads the messages that the agent's model was sent, up to the end of the sequence. Its provider may have cached them.
 * @returns undefined if the agent's model was sent the sequence in another form than the summarizer should read
 */
export async function readPrefix(
  contexts: SummarizationPorts['contexts'],
  agent: PreparedAgent,
  { conversation, sequence, summaries }: PrefixPlace,
): Promise<CachedPrefix | undefined> {
  const source = await contexts.readContext(conversation);
  if (source === undefined) return undefined;
  const { segments, number: version } = source.version;
  const within = segments.filter(({ from, to }) => to >= sequence.from && from <= sequence.to);
  const isWhole = within.every(
    ({ kind, from, to }) =>
      (kind === 'raw' || kind === 'summary') && (kind === 'raw' || (from >= sequence.from && to <= sequence.to)),
  );
  if (!isWhole || within.filter(({ kind }) => kind === 'summary').length !== summaries) return undefined;
  const { items } = await eventLoopShare.run(buildInSlices(source));
  const shown = items.filter(({ to }) => to <= sequence.to);
  // The agent's model was sent the loaded contents, which would have to be loaded again.
  if (agent.agent.loadContent !== undefined && shown.some(({ message }) => hasReference(message))) return undefined;
  const { system, tools, overhead } = await prepareAsLastTurn(contexts, conversation, agent);
  const { cache } = hintProvider(agent, conversation, {});
  return {
    system,
    tools,
    ...(cache && { cache }),
    messages: withoutReasoning(shown.map(({ message }) => message)),
    version,
    tokens: overhead.tokens + shown.reduce((sum, { tokens }) => sum + tokens, 0),
    rangeTokens: sequence.tokens,
  };
}

function hasReference(message: Message): boolean {
  return message.parts !== undefined && readParts(message).some(({ kind }) => kind === 'reference');
}
