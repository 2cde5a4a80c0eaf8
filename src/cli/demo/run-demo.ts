import type { TurnfoldClient } from '../../api/client/index.ts';
import type { Agent } from '../../domain/agent.ts';
import { isSettled, type TurnView } from '../../domain/turn.ts';
import { type DemoScript, turnIdOf } from './demo-agent.ts';
import type { DemoRun, SizedRequest } from './report.ts';

const TURN_WAIT_MS = 60_000;
const POLL_MS = 100;

export interface DemoProgress {
  readonly number: number;
  readonly of: number;
  readonly tokens: number;
  readonly version: number;
  readonly view: TurnView;
}

export async function runConversation(
  client: TurnfoldClient,
  agent: Agent,
  { turns, opening }: DemoScript,
  onProgress: (progress: DemoProgress) => void,
): Promise<DemoRun> {
  const conversation = agent.name;
  if (opening.length > 0) await client.append({ conversation, agent: agent.name, messages: [...opening] });
  for (const [index, turn] of turns.entries()) {
    const id = turnIdOf(index);
    await client.enqueueTurn({ conversation, agent: agent.name, input: turn.ask, turn: id });
    const view = await client.result(conversation, id, { waitMs: TURN_WAIT_MS });
    if (!isSettled(view.state))
      throw new Error(`turn ${id} did not settle within ${TURN_WAIT_MS} ms. Its state is ${view.state}`);
    const { size } = await client.describe(conversation);
    const requestTokens = view.requestTokens.at(-1) ?? 0;
    onProgress({ number: index + 1, of: turns.length, tokens: requestTokens, version: size.version, view });
  }
  await waitForPass(client, conversation);
  return await readRun(client, conversation, turns.length);
}

/** Waits for the last compaction. Compactions run beside the turns, and may outlast the last answer. */
async function waitForPass(client: TurnfoldClient, conversation: string): Promise<void> {
  const until = Date.now() + TURN_WAIT_MS;
  while ((await client.describe(conversation)).passId !== undefined && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

async function readRun(client: TurnfoldClient, conversation: string, turns: number): Promise<DemoRun> {
  const views = await Promise.all(
    Array.from({ length: turns }, (_, index) => client.result(conversation, turnIdOf(index))),
  );
  const state = await client.describe(conversation);
  const context = await client.context(conversation);
  return {
    conversation,
    turns,
    failures: views.flatMap(({ failure }) => (failure === undefined ? [] : [failure.code])),
    requests: views.flatMap((view) => [
      ...view.requestTokens.map((tokens) => ({ tokens, isSent: true })),
      ...refusedRequest(view),
    ]),
    appended: state.size.headTotal.tokens,
    tokensEnd: context.tokens,
    versions: await client.versions(conversation),
  };
}

/** Returns the request that was larger than the window and so was not sent. The failure of its turn has its size. */
function refusedRequest({ failure }: TurnView): SizedRequest[] {
  const tokens = failure?.details?.tokens;
  return typeof tokens === 'number' ? [{ tokens, isSent: false }] : [];
}
