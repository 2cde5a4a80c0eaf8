import './list.css';
import { useState } from 'preact/hooks';
import { EmptyState } from '../parts/empty-state.tsx';
import { Ago, counted, exactNumber } from '../parts/figures.tsx';
import { IconSearch } from '../parts/icons.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Tag, type Tone } from '../parts/tag.tsx';
import { TypedField } from '../parts/typed-field.tsx';
import type { ConversationPage, ListedConversation } from '../shell/answers.ts';
import { type Query, readRoute } from '../shell/client.ts';
import { linkTo, replaceSettings, settings } from '../shell/router.ts';
import { usePulse, useReading } from '../shell/use-answer.ts';

/** Time between two reads of the list. A page without filters takes one request. */
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

export function ConversationList() {
  const { id = '', agent = '', state = '' } = Object.fromEntries(settings.value);
  const filter = { id, agent, state };
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const after = cursors.at(-1);
  const query = { idContains: id || undefined, agent: agent || undefined, state: state || undefined };
  const answer = useReading(JSON.stringify([query, after]), (signal) => readPage(query, after, signal), true);
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
                {counted(conversations.length, 'conversation')}
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

interface Filter {
  readonly id: string;
  readonly agent: string;
  readonly state: string;
}

interface FiltersProps {
  readonly filter: Filter;
  readonly agents: readonly string[];
  readonly onChange: (changes: Partial<Filter>) => void;
}

const STATES = ['', 'running', 'waiting', 'queued', 'failed', 'idle'];

function Filters({ filter: { id, agent, state }, agents, onChange }: FiltersProps) {
  return (
    <search class="filters">
      <div class="search">
        <IconSearch />
        <TypedField label="Find by id" value={id} onChange={(text) => onChange({ id: text })} />
      </div>
      <TypedField label="Agent" value={agent} suggestions={agents} onChange={(text) => onChange({ agent: text })} />
      <div class="segments" role="group" aria-label="State">
        {STATES.map((name) => (
          <button key={name} type="button" aria-pressed={name === state} onClick={() => onChange({ state: name })}>
            {name === '' ? 'all' : name}
          </button>
        ))}
      </div>
    </search>
  );
}

const PAGE_ROWS = 50;
/**
 * Maximum requests for one page. A request examines about 2,000 conversations, so a page of a rare state takes several.
 */
const MAX_REQUESTS = 5;

async function readPage(query: Query, first: string | undefined, signal: AbortSignal): Promise<ConversationPage> {
  const conversations: ConversationPage['conversations'] = [];
  let after = first;
  for (let requests = 0; requests < MAX_REQUESTS; requests += 1) {
    const limit = PAGE_ROWS - conversations.length;
    const page = await readRoute<ConversationPage>(['conversations'], { ...query, after, limit }, signal);
    conversations.push(...page.conversations);
    after = page.next;
    if (after === undefined || conversations.length >= PAGE_ROWS) break;
  }
  return { conversations, ...(after !== undefined && { next: after }) };
}

const TONES: Readonly<Record<ListedConversation['state'], Tone>> = {
  idle: 'plain',
  queued: 'accent',
  running: 'good',
  waiting: 'warn',
  failed: 'bad',
};

function StateTag({ row: { state, waitsFor, isForking } }: { readonly row: ListedConversation }) {
  return (
    <>
      <Tag tone={TONES[state]}>{waitsFor === undefined ? state : `waits for ${waitsFor}`}</Tag>{' '}
      {isForking === true && <Tag tone="note">forking</Tag>}
    </>
  );
}

const NEXT = new Set(['j', 'ArrowDown']);
const PREVIOUS = new Set(['k', 'ArrowUp']);

/** Moves the focus among the elements with `data-row`. */
function moveAmongRows(event: KeyboardEvent): void {
  const { key, currentTarget, target } = event;
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (!isPlain || !(NEXT.has(key) || PREVIOUS.has(key)) || !(currentTarget instanceof HTMLElement)) return;
  const rows = [...currentTarget.querySelectorAll<HTMLElement>('[data-row]')];
  const at = rows.findIndex((row) => row === target || (target instanceof Node && row.contains(target)));
  const next = NEXT.has(key) ? rows[at + 1] : rows[Math.max(0, at - 1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
