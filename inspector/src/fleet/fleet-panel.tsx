import { counted, exactNumber, shortDuration } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import type { Fleet } from '../shell/answers.ts';
import { BASE } from '../shell/client.ts';
import { useAnswer } from '../shell/use-answer.ts';
import { usePulse } from '../shell/use-pulse.ts';
import { Findings } from './findings.tsx';
import './fleet.css';
import { MinuteBars, type MinuteBarsProps } from './minute-bars.tsx';
import { FailingWebhooks, QuarantinedRecords, Queues, Workers } from './tables.tsx';

/** Pause between two readings, each of which asks Redis for its clients. */
const PULSE_MS = 5_000;

/** Workers, queues and the last hour of the whole deployment. */
export function FleetPanel() {
  const answer = useAnswer<Fleet>('fleet');
  usePulse(answer.reload, PULSE_MS);
  return (
    <div class="fleet">
      <h1 class="visually-hidden">Fleet</h1>
      <Loaded answer={answer} what="the fleet">
        {(fleet) => (
          <>
            <Figures fleet={fleet} />
            <Findings findings={fleet.findings} />
            <Hour fleet={fleet} />
            <Workers workers={fleet.workers} />
            <Queues queues={fleet.queues} board={`${BASE}inspect/queues`} />
            <QuarantinedRecords quarantined={fleet.quarantined} />
            <FailingWebhooks webhooks={fleet.webhooks} />
          </>
        )}
      </Loaded>
    </div>
  );
}

function Figures({ fleet: { workers, mailboxes, backlog, inbox, grafanaUrl } }: { readonly fleet: Fleet }) {
  const dead = workers.filter(({ isLost }) => isLost).length;
  const overdue = Object.values(backlog.overdue).reduce((sum, count) => sum + count, 0);
  const facts = [
    ['workers alive', exactNumber(workers.length - dead)],
    ...(dead > 0 ? [['workers dead', exactNumber(dead)]] : []),
    ['mailboxes that wait', exactNumber(mailboxes.waiting)],
    ['oldest wait', mailboxes.oldestMs === 0 ? '–' : shortDuration(mailboxes.oldestMs)],
    ...(overdue > 0 ? [[`overdue, for ${shortDuration(backlog.oldestOverdueMs)}`, exactNumber(overdue)]] : []),
    ['open compactions', exactNumber(backlog.openPasses)],
    ...(inbox.waiting > 0 ? [['inbox jobs that wait', exactNumber(inbox.waiting)]] : []),
    ...(inbox.failed > 0 ? [['inbox jobs that failed', exactNumber(inbox.failed)]] : []),
    ['failed turns in 7 days', exactNumber(backlog.failedTurns)],
  ];
  return (
    <div class="fleet-head">
      <dl class="card fleet-figures">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd class="number">{value}</dd>
          </div>
        ))}
      </dl>
      {grafanaUrl !== undefined && (
        <a class="button" href={grafanaUrl} target="_blank" rel="noreferrer">
          Open Grafana
        </a>
      )}
    </div>
  );
}

function Hour({ fleet: { at, queues, failedTurns } }: { readonly fleet: Fleet }) {
  const turns = queues.find(({ queue }) => queue === 'turn');
  const finishedOf = (name: string): readonly number[] => queues.find(({ queue }) => queue === name)?.finished ?? [];
  const waits = turns?.waits ?? [];
  return (
    <section aria-label="The last hour">
      <h2>The last hour</h2>
      <div class="fleet-hours">
        <CountBars title="Turn jobs" minutes={finishedOf('turn')} at={at} unit={['job', 'jobs']} />
        <CountBars title="Compactions" minutes={finishedOf('compaction')} at={at} unit={['pass', 'passes']} />
        <CountBars title="Summaries" minutes={finishedOf('summarization')} at={at} unit={['job', 'jobs']} />
        <CountBars title="Failed turns" minutes={failedTurns} at={at} unit={['turn', 'turns']} isBad />
        <MinuteBars
          title="Oldest wait of a turn job"
          minutes={waits}
          at={at}
          summary={summarizeWaits(waits)}
          describe={shortDuration}
        />
      </div>
    </section>
  );
}

function summarizeWaits(waits: readonly (number | null)[]): string {
  const known = waits.filter((wait) => wait !== null);
  const longest = `at most ${shortDuration(Math.max(0, ...known))}`;
  // The server notes waits since it was started.
  return known.length === waits.length
    ? `${longest} in the last hour`
    : `${longest} in ${counted(known.length, 'known minute')}`;
}

interface CountBarsProps extends Pick<MinuteBarsProps, 'title' | 'at' | 'isBad'> {
  readonly minutes: readonly number[];
  /** Name of one of the counted things, and of several: `job`, `jobs`. */
  readonly unit: readonly [one: string, many: string];
}

function CountBars({ minutes, unit: [one, many], ...rest }: CountBarsProps) {
  const describe = (count: number): string => counted(count, one, many);
  const sum = minutes.reduce((total, count) => total + count, 0);
  return <MinuteBars {...rest} minutes={minutes} summary={`${describe(sum)} in the last hour`} describe={describe} />;
}
