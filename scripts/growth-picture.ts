import { plotReplay } from '../src/cli/reports/file-reports.ts';
import { writePicture } from '../src/cli/reports/report-page.ts';
import { drawSizePlot } from '../src/cli/reports/size-plot.ts';
import type { Message } from '../src/domain/message.ts';
import { completePolicy } from '../src/domain/policy.ts';
import { createOfflineSummarizers, prepareOfflineAgent, weighConversation } from '../src/evaluation/offline-agent.ts';
import { Replay } from '../src/evaluation/replay.ts';

export const GROWTH_PICTURE = new URL('../docs/explanation/context-growth.svg', import.meta.url);

const POLICY = completePolicy({ tokenThreshold: 12_000, maxTokens: 6_000 });
const USABLE_TOKENS = 16_000;
const TURNS = 40;

/** Draws how the context of a tool agent grows, call by call, and falls with each version. */
export async function drawContextGrowth(): Promise<string> {
  const prepared = await prepareOfflineAgent(POLICY, { usableTokens: USABLE_TOKENS });
  const weighed = await weighConversation(makeConversation(), prepared);
  const replay = new Replay(weighed, prepared, await createOfflineSummarizers());
  for (const message of weighed) await replay.add(message);
  const replayed = await replay.end();
  return writePicture(drawSizePlot(plotReplay({ id: 'a tool agent', ...replayed }, prepared.limits)));
}

/** Questions about invoices, each answered with one to three pages of an account. */
function makeConversation(): Message[] {
  return Array.from({ length: TURNS }, (_, turn) => turn).flatMap((turn): Message[] => [
    { role: 'user', content: `Which invoices of account ${1000 + turn} are open, and who has to approve them?` },
    ...Array.from({ length: 1 + (turn % 3) }, (_, page) => page).flatMap((page) => readPage(turn, page)),
    {
      role: 'assistant',
      content: `Account ${1000 + turn} has two open invoices. The head of department approves them.`,
    },
  ]);
}

function readPage(turn: number, page: number): Message[] {
  const id = `call-${turn}-${page}`;
  const input = JSON.stringify({ account: 1000 + turn, page });
  const lines = 8 + ((turn * 7 + page * 5) % 17);
  const rows = Array.from({ length: lines }, (_, line) => {
    const number = turn * 100 + page * 30 + line;
    return `invoice INV-${20_000 + number}: ${17 * number + 40} EUR, sent in week ${1 + (number % 52)}, waits for approval by cost centre ${300 + (number % 9)}`;
  });
  return [
    { role: 'assistant', content: '', toolCalls: [{ id, name: 'list_invoices', arguments: input }] },
    { role: 'tool', toolCallId: id, content: rows.join('\n') },
  ];
}
