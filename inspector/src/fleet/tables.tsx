import { EmptyState } from '../parts/empty-state.tsx';
import { Ago, exactNumber, shortDuration } from '../parts/figures.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Tag } from '../parts/tag.tsx';
import type { Fleet } from '../shell/answers.ts';

type Worker = Fleet['workers'][number];
type Queue = Fleet['queues'][number];
type Quarantined = Fleet['quarantined'][number];
type Webhook = Fleet['webhooks'][number];

const WORKERS: readonly Column<Worker>[] = [
  { name: 'Worker', cell: ({ worker }) => <span class="mono">{worker}</span> },
  { name: 'State', cell: ({ isLost }) => (isLost ? <Tag tone="bad">dead</Tag> : <Tag tone="good">alive</Tag>) },
  { name: 'Roles', cell: ({ roles }) => roles.join(', ') },
  { name: 'Started', cell: ({ startedAt }) => <Ago at={startedAt} />, isMinor: true },
  { name: 'Heartbeat', cell: ({ seenAt }) => <Ago at={seenAt} /> },
];

export function Workers({ workers }: Pick<Fleet, 'workers'>) {
  return (
    <section>
      <h2>Workers</h2>
      {workers.length === 0 ? (
        <EmptyState title="No worker runs">
          <code>turnfold worker --agents agents.ts</code> starts one.
        </EmptyState>
      ) : (
        <Table caption="Workers" columns={WORKERS} rows={workers} keyOf={({ worker }) => worker} />
      )}
    </section>
  );
}

const count =
  (state: string) =>
  ({ counts }: Queue): string =>
    exactNumber(counts[state] ?? 0);

const QUEUES: readonly Column<Queue>[] = [
  {
    name: 'Queue',
    cell: ({ queue, isPaused }) => (
      <>
        {queue} {isPaused && <Tag tone="bad">paused</Tag>}
      </>
    ),
  },
  {
    name: 'Waiting',
    cell: ({ counts }) => exactNumber((counts['waiting'] ?? 0) + (counts['prioritized'] ?? 0)),
    isNumber: true,
  },
  { name: 'Oldest', cell: ({ waitMs }) => (waitMs === undefined ? '–' : shortDuration(waitMs)), isNumber: true },
  { name: 'Active', cell: count('active'), isNumber: true },
  { name: 'Delayed', cell: count('delayed'), isNumber: true, isMinor: true },
  { name: 'For children', cell: count('waiting-children'), isNumber: true, isMinor: true },
  { name: 'Failed', cell: count('failed'), isNumber: true, isMinor: true },
  { name: 'Workers', cell: ({ workers }) => (workers === undefined ? 'unknown' : workers), isNumber: true },
];

export function Queues({ queues, board }: Pick<Fleet, 'queues'> & { readonly board: string }) {
  return (
    <section>
      <h2>
        Queues{' '}
        <a class="fleet-link" href={board}>
          All jobs in bull-board
        </a>
      </h2>
      <Table caption="Queues" columns={QUEUES} rows={queues} keyOf={({ queue }) => queue} />
    </section>
  );
}

const QUARANTINED: readonly Column<Quarantined>[] = [
  { name: 'Record', cell: ({ name }) => <span class="mono plain-text">{name}</span> },
  { name: 'Shard', cell: ({ shard }) => shard, isNumber: true },
  { name: 'Since', cell: ({ at }) => (at === undefined ? '–' : <Ago at={at} />) },
  { name: 'Why', cell: ({ why }) => <span class="plain-text">{why}</span> },
];

export function QuarantinedRecords({ quarantined }: Pick<Fleet, 'quarantined'>) {
  if (quarantined.length === 0) return null;
  return (
    <section>
      <h2>Quarantined records</h2>
      <p class="fleet-soft">
        <code>turnfold quarantine</code> restores or drops them.
      </p>
      <Table
        caption="Quarantined records"
        columns={QUARANTINED}
        rows={quarantined}
        keyOf={({ shard, name }) => `${shard} ${name}`}
      />
    </section>
  );
}

const WEBHOOKS: readonly Column<Webhook>[] = [
  { name: 'Webhook', cell: ({ origin }) => <span class="mono plain-text">{origin}</span> },
  { name: 'Tenant', cell: ({ tenant }) => tenant },
  {
    name: 'State',
    cell: ({ state }) => <Tag tone={state === 'set_aside' ? 'bad' : 'warn'}>{state.replace('_', ' ')}</Tag>,
  },
  { name: 'Id', cell: ({ webhook }) => <span class="mono">{webhook}</span>, isMinor: true },
  {
    name: 'Last failure',
    cell: ({ lastFailure }) => <span class="plain-text">{typeof lastFailure === 'string' ? lastFailure : '–'}</span>,
  },
];

export function FailingWebhooks({ webhooks }: Pick<Fleet, 'webhooks'>) {
  if (webhooks.length === 0) return null;
  return (
    <section>
      <h2>Failing webhooks</h2>
      <Table caption="Failing webhooks" columns={WEBHOOKS} rows={webhooks} keyOf={({ webhook }) => webhook} />
    </section>
  );
}
