import '../version/version.css';
import './turn.css';
import { useMemo } from 'preact/hooks';
import type { AnswerBody } from '../../../src/api/contract/client.ts';
import type { OutlineAnswer } from '../../../src/api/contract/inspection.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { exactNumber, shortDuration, Time, Tokens } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Tag } from '../parts/tag.tsx';
import type { OpenTurns } from '../shell/answers.ts';
import { useConversation, useLiveAnswer } from '../shell/live-conversation.ts';
import { linkTo } from '../shell/router.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { STATE_TONES } from './turn-facts.tsx';
import { listTurns, type TurnRow } from './turn-rows.ts';

type FailedTurns = AnswerBody<'failedTurns'>;

/** Number of latest messages whose turns are listed. */
const RECENT_MESSAGES = 2_000;
/** Number of the tenant's failed turns that are read. The page shows those of the conversation. */
const FAILED_TURNS = 1_000;

export function TurnsPanel({ conversation }: { readonly conversation: string }) {
  const open = useLiveAnswer<OpenTurns>(['conversations', conversation, 'turns']);
  return (
    <>
      <Loaded answer={open} what="the open turns">
        {({ turns, mailbox, scheduled }) =>
          turns.length > 0 && (
            <section class="turn-list" aria-label="Open turns">
              <h2>
                {exactNumber(mailbox)} open, {exactNumber(scheduled)} scheduled
              </h2>
              <Table caption="Open turns" columns={openColumns(conversation)} rows={turns} keyOf={({ turn }) => turn} />
            </section>
          )
        }
      </Loaded>
      <RecentTurns conversation={conversation} open={new Set(open.value?.turns.map(({ turn }) => turn))} />
    </>
  );
}

function openColumns(conversation: string): readonly Column<OpenTurns['turns'][number]>[] {
  return [
    { name: 'Turn', cell: ({ turn }) => <TurnLink conversation={conversation} turn={turn} /> },
    {
      name: 'State',
      cell: ({ state, waiting }) => (
        <Tag tone={STATE_TONES[state]}>{waiting === undefined ? state : `waits for ${waiting.for}`}</Tag>
      ),
    },
    { name: 'Accepted', isNumber: true, cell: ({ acceptedAt }) => <Time at={acceptedAt} /> },
    {
      name: 'Due',
      isNumber: true,
      isMinor: true,
      cell: ({ dueAt }) => (dueAt === undefined ? '–' : <Time at={dueAt} />),
    },
  ];
}

function TurnLink({ conversation, turn }: { readonly conversation: string; readonly turn: string }) {
  return (
    <a class="mono" href={linkTo('c', conversation, 't', turn)}>
      {turn}
    </a>
  );
}

function RecentTurns({ conversation, open }: { readonly conversation: string; readonly open: ReadonlySet<string> }) {
  const head = useConversation().description?.head;
  const outline = useAnswer<OutlineAnswer>(
    head === undefined ? undefined : ['conversations', conversation, 'outline'],
    { after: Math.max(0, (head ?? 0) - RECENT_MESSAGES), limit: RECENT_MESSAGES },
  );
  const failed = useAnswer<FailedTurns>(['failed-turns'], { limit: FAILED_TURNS });
  const failures = useMemo(() => {
    const own = failed.value?.turns.filter((turn) => turn.conversation === conversation) ?? [];
    return new Map(own.map(({ turn, failure }) => [turn, failure.code]));
  }, [failed.value, conversation]);
  return (
    <Loaded answer={outline} what="the turns">
      {({ entries }) => {
        const rows = listTurns(entries).filter(({ turn }) => !open.has(turn));
        if (rows.length === 0 && open.size === 0) {
          return (
            <EmptyState title="No turn wrote the latest messages">
              They were appended by a service that calls the model itself.
            </EmptyState>
          );
        }
        return (
          rows.length > 0 && (
            <section class="turn-list" aria-label="Settled turns">
              <h2>{exactNumber(rows.length)} settled</h2>
              <Table
                caption="Settled turns"
                columns={settledColumns(conversation, failures)}
                rows={rows}
                keyOf={({ turn }) => turn}
              />
            </section>
          )
        );
      }}
    </Loaded>
  );
}

function settledColumns(conversation: string, failures: ReadonlyMap<string, string>): readonly Column<TurnRow>[] {
  return [
    { name: 'Turn', cell: ({ turn }) => <TurnLink conversation={conversation} turn={turn} /> },
    {
      name: 'Input',
      cell: ({ turn, start }) => (
        <span class="turn-start one-line">
          {failures.has(turn) && <Tag tone="bad">{failures.get(turn)}</Tag>} <bdi>{start}</bdi>
        </span>
      ),
    },
    { name: 'Messages', isNumber: true, isMinor: true, cell: ({ messages }) => exactNumber(messages) },
    { name: 'Calls', isNumber: true, isMinor: true, cell: ({ calls }) => exactNumber(calls) },
    { name: 'Tokens', isNumber: true, isMinor: true, cell: ({ tokens }) => <Tokens value={tokens} /> },
    { name: 'Took', isNumber: true, isMinor: true, cell: ({ from, to }) => shortDuration(to - from) },
    { name: 'Began', isNumber: true, cell: ({ from }) => <Time at={from} /> },
  ];
}
