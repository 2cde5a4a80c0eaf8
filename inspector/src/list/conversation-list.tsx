import { useState } from 'preact/hooks';
import { EmptyState } from '../parts/empty-state.tsx';
import { Ago, exactNumber } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { moveAmongRows } from '../parts/row-keys.ts';
import { type Column, Table } from '../parts/table.tsx';
import type { ConversationPage, ListedConversation } from '../shell/answers.ts';
import { linkTo, replaceSettings, settings } from '../shell/router.ts';
import { usePulse } from '../shell/use-pulse.ts';
import { Filters } from './filters.tsx';
import './list.css';
import { StateTag } from './state-tag.tsx';
import { useConversationPage } from './use-conversation-page.ts';

/** Pause between two readings of the shown page. A page without filters is one request. */
const PULSE_MS = 2_000;

const COLUMNS: readonly Column<ListedConversation>[] = [
  {
    name: 'Conversation',
    cell: ({ conversation }) => (
      <a class="conversation-link mono one-line" data-row href={linkTo('c', conversation)} title={conversation}>
        {conversation}
      </a>
    ),
  },
  { name: 'State', cell: (row) => <StateTag row={row} /> },
  { name: 'Agent', cell: ({ agent }) => agent, isMinor: true },
  { name: 'Messages', cell: ({ head }) => exactNumber(head), isNumber: true },
  { name: 'Turns', cell: ({ turns }) => exactNumber(turns), isNumber: true, isMinor: true },
  {
    name: 'Open turns',
    cell: ({ mailbox }) => (mailbox === 0 ? '–' : exactNumber(mailbox)),
    isNumber: true,
    isMinor: true,
  },
  {
    name: 'Last turn',
    cell: ({ lastTurn }) =>
      lastTurn === undefined ? (
        '–'
      ) : (
        <>
          {lastTurn.state}, <Ago at={lastTurn.settledAt} />
        </>
      ),
    isMinor: true,
  },
];

/** All conversations, in pages, read again while a person looks at them. */
export function ConversationList() {
  const { id = '', agent = '', state = '' } = Object.fromEntries(settings.value);
  const filter = { id, agent, state };
  // Cursors of the pages before this one, so that a person can go back.
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const answer = useConversationPage(filter, cursors.at(-1));
  usePulse(answer.reload, PULSE_MS);
  const change = (changes: Partial<typeof filter>): void => {
    setCursors([]);
    replaceSettings(changes);
  };
  const hasFilter = id !== '' || agent !== '' || state !== '';
  return (
    <>
      <h1 class="visually-hidden">Conversations</h1>
      <Filters filter={filter} agents={listAgents(answer.value)} onChange={change} />
      <Loaded answer={answer} what="the conversations">
        {({ conversations, next }) => (
          <>
            {conversations.length === 0 ? (
              <NoConversations onReset={hasFilter ? () => change({ id: '', agent: '', state: '' }) : undefined} />
            ) : (
              <div onKeyDown={moveAmongRows}>
                <Table
                  caption="Conversations"
                  columns={COLUMNS}
                  rows={conversations}
                  keyOf={({ conversation }) => conversation}
                />
              </div>
            )}
            <div class="page-foot">
              <p>
                {cursors.length > 0 && `Page ${cursors.length + 1} · `}
                {exactNumber(conversations.length)} {conversations.length === 1 ? 'conversation' : 'conversations'}
                {next !== undefined && ', more on the next page'}
              </p>
              <p class="keys-hint">
                <kbd>j</kbd> <kbd>k</kbd> move, <kbd>Enter</kbd> opens
              </p>
              {cursors.length > 0 && (
                <button type="button" class="button" onClick={() => setCursors(cursors.slice(0, -1))}>
                  Previous
                </button>
              )}
              {next !== undefined && (
                <button type="button" class="button" onClick={() => setCursors([...cursors, next])}>
                  Next
                </button>
              )}
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

function listAgents(page: ConversationPage | undefined): string[] {
  return [...new Set(page?.conversations.map(({ agent }) => agent))].toSorted();
}

function NoConversations({ onReset }: { readonly onReset: (() => void) | undefined }) {
  if (onReset === undefined) {
    return (
      <EmptyState title="There are no conversations yet">
        Start one with <code>turnfold dev</code>, or import a recorded one with <code>turnfold import</code>.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No conversation has these properties">
      <button type="button" class="button" onClick={onReset}>
        Show all conversations
      </button>
    </EmptyState>
  );
}
