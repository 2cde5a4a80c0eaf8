import { useEffect, useRef, useState } from 'preact/hooks';
import type { ConversationPage } from '../shell/answers.ts';
import { type AnswerError, readRoute } from '../shell/client.ts';
import { accessKey } from '../shell/key.ts';
import type { Answer } from '../shell/use-answer.ts';
import type { Filter } from './filters.tsx';

/** Rows of a page. */
const PAGE_ROWS = 50;
/**
 * Requests for one page. A server examines about 2,000 conversations a request, so a page of a rare state may take
 * several. Behind this many, the page ends and a person may search on.
 */
const MAX_REQUESTS = 5;

interface State {
  readonly request: string;
  readonly value?: ConversationPage;
  readonly error?: AnswerError;
}

/** Reads one page of the list. The page is full, unless the list ends or the search is long. */
export function useConversationPage({ id, agent, state }: Filter, after: string | undefined): Answer<ConversationPage> {
  const query = { idContains: id, agent, state, after, limit: PAGE_ROWS };
  const request = JSON.stringify(query);
  const [round, setRound] = useState(0);
  const [read, setRead] = useState<State>({ request: '' });
  const isInFlight = useRef(false);
  const key = accessKey.value;
  useEffect(() => {
    const leaving = new AbortController();
    isInFlight.current = true;
    const readPage = async (): Promise<void> => {
      try {
        const value = await collect(query, leaving.signal);
        if (leaving.signal.aborted) return;
        setRead({ request, value });
      } catch (error) {
        if (leaving.signal.aborted) return;
        setRead((before) => ({ ...(before.request === request && before), request, error: error as AnswerError }));
      }
      isInFlight.current = false;
    };
    void readPage();
    return () => leaving.abort();
  }, [request, round, key]);
  return {
    // During a search, the rows before it stay.
    value: read.value,
    error: read.request === request ? read.error : undefined,
    isLoading: read.request !== request,
    reload: () => {
      if (!isInFlight.current) setRound((before) => before + 1);
    },
  };
}

type ListQuery = Readonly<Record<string, string | number | undefined>> & { readonly after: string | undefined };

async function collect(query: ListQuery, signal: AbortSignal): Promise<ConversationPage> {
  const conversations: ConversationPage['conversations'] = [];
  let { after } = query;
  for (let requests = 0; requests < MAX_REQUESTS; requests += 1) {
    const limit = PAGE_ROWS - conversations.length;
    const page = await readRoute<ConversationPage>('conversations', { query: { ...query, after, limit }, signal });
    conversations.push(...page.conversations);
    after = page.next;
    if (after === undefined || conversations.length >= PAGE_ROWS) break;
  }
  return { conversations, ...(after !== undefined && { next: after }) };
}
