import type { ConversationState } from '../../domain/conversation.ts';
import type { ConversationRef } from '../../domain/ids.ts';
import { subtractWeights } from '../../domain/message.ts';
import { WorkReader } from '../../summarize/progress/work-done.ts';
import { eventLoopShare } from '../../wire/tokens/event-loop-share.ts';
import type { Methods } from '../contract/client.ts';
import { readConversationName } from '../contract/names.ts';
import { readConversationState } from './contexts.ts';
import { type InspectionPorts, prefixOf } from './inspected-version.ts';
import type { ClientPorts } from './ports.ts';

export const workDoneMethods = {
  /** @throws invalid_input, not_found */
  workDone: async (ports, name) => {
    const conversation = readConversationName(name);
    const state = await readConversationState(ports, conversation);
    const prefix = `${prefixOf(conversation)}${state.incarnation}/`;
    const { shown } = await ports.recentWork.get(`${prefix}${state.head}`, async () => {
      // A reader belongs to one call at a time. It reads only the messages that are new since its last call.
      const known = await ports.recentWork.take(prefix);
      const reader = await readWork(ports.contexts, conversation, state, { known: known?.reader });
      return { reader, shown: reader.show() };
    });
    return shown;
  },
} satisfies Methods<InspectionPorts>;

/** Newest messages that are read. The older messages of a longer log are left out. */
const LIMITS = { messages: 20_000, bytes: 32_000_000 };
const PAGE = { messages: 500, bytes: 4_000_000 };

type LogReader = Pick<ClientPorts['contexts'], 'readLog'>;
type LogSize = Pick<ConversationState, 'head' | 'size'>;

interface ReadOptions {
  /** Reader of an earlier call. */
  readonly known?: WorkReader | undefined;
  readonly limits?: typeof LIMITS;
}

export async function readWork(
  contexts: LogReader,
  conversation: ConversationRef,
  log: LogSize,
  { known, limits = LIMITS }: ReadOptions = {},
): Promise<WorkReader> {
  if (known !== undefined && (await readOn(contexts, conversation, known, log.head))) return known;
  const reader = new WorkReader(await findStart(contexts, conversation, log, limits));
  await readOn(contexts, conversation, reader, log.head);
  return reader;
}

/** @returns false if the log is another one than before, because a failover lost its end */
async function readOn(
  contexts: LogReader,
  conversation: ConversationRef,
  reader: WorkReader,
  head: number,
): Promise<boolean> {
  if (reader.head > head) return false;
  const { total } = reader;
  for (let isFirst = true; reader.head < head; isFirst = false) {
    const range = { from: reader.head + 1, to: Math.min(head, reader.head + PAGE.messages) };
    const entries = await contexts.readLog(conversation, [range], PAGE.bytes);
    const [first] = entries;
    if (first === undefined) break;
    const isNext = subtractWeights(first.total, first).bytes === total.bytes;
    if (isFirst && reader.isBegun && !isNext) return false;
    await eventLoopShare.run(reader.read(entries));
  }
  return true;
}

/** Finds the oldest message to read. Each entry has the size of the log before it, so few entries are read. */
async function findStart(
  contexts: LogReader,
  conversation: ConversationRef,
  { head, size: { headTotal } }: LogSize,
  limits: typeof LIMITS,
): Promise<number> {
  let low = Math.max(1, head - limits.messages + 1);
  let high = head;
  if (headTotal.bytes <= limits.bytes) return low;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [entry] = await contexts.readLog(conversation, [{ from: middle, to: middle }]);
    const bytes = entry === undefined ? 0 : headTotal.bytes - subtractWeights(entry.total, entry).bytes;
    if (bytes > limits.bytes) low = middle + 1;
    else high = middle;
  }
  return low;
}
