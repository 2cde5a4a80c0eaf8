import './fleet.css';
import { counted, exactNumber, shortDuration } from '../parts/figures.tsx';
import { Loaded } from '../parts/loaded.tsx';
import { Tag } from '../parts/tag.tsx';
import type { Fleet } from '../shell/answers.ts';
import { BASE } from '../shell/client.ts';
import { useAnswer, usePulse } from '../shell/use-answer.ts';
import { FailingWebhooks, QuarantinedRecords, Queues, Workers } from './tables.tsx';

const PULSE_MS = 5_000;

export function FleetPanel() {
  const answer = useAnswer<Fleet>(['fleet']);
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
  // The server has recorded waits only since its start, so minutes may be missing.
  return known.length === waits.length
    ? `${longest} in the last hour`
    : `${longest} in ${counted(known.length, 'known minute')}`;
}

interface CountBarsProps extends Pick<MinuteBarsProps, 'title' | 'at' | 'isBad'> {
  readonly minutes: readonly number[];
  readonly unit: readonly [one: string, many: string];
}

function CountBars({ minutes, unit: [one, many], ...rest }: CountBarsProps) {
  const describe = (count: number): string => counted(count, one, many);
  const sum = minutes.reduce((total, count) => total + count, 0);
  return <MinuteBars {...rest} minutes={minutes} summary={`${describe(sum)} in the last hour`} describe={describe} />;
}

type Finding = Fleet['findings'][number];

function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  const troubles = [...findings.filter(isWrong), ...findings.filter(({ state }) => state === 'warning')];
  const good = findings.filter(({ state }) => state === 'ok');
  return (
    <section class="card fleet-findings" aria-label="Findings">
      <h2>Findings</h2>
      {troubles.length === 0 && (
        <p>
          <Tag tone="good">all well</Tag> No check finds a problem.
        </p>
      )}
      {troubles.length > 0 && (
        <ul class="fleet-list">
          {troubles.map((finding) => (
            <li key={finding.name}>
              <Tag tone={isWrong(finding) ? 'bad' : 'warn'}>{isWrong(finding) ? 'wrong' : 'warning'}</Tag>
              <div>
                <p class="plain-text">
                  <strong>{finding.name}</strong>: {finding.what}
                </p>
                {finding.remedy !== undefined && <p class="plain-text fleet-soft">{finding.remedy}</p>}
              </div>
            </li>
          ))}
        </ul>
      )}
      <details>
        <summary>{good.length} checks are well</summary>
        <ul class="fleet-good">
          {good.map(({ name, what }) => (
            <li key={name} class="plain-text">
              <strong>{name}</strong>: {what}
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}

function isWrong({ state }: Finding): boolean {
  return state === 'wrong';
}

interface MinuteBarsProps {
  readonly title: string;
  /** One value for each minute, oldest first. null: the server recorded no value in this minute. */
  readonly minutes: readonly (number | null)[];
  readonly at: number;
  readonly summary: string;
  readonly describe: (value: number) => string;
  readonly isBad?: true;
}

const MINUTE_MS = 60_000;
const [WIDTH, HEIGHT, FOOT] = [300, 84, 14];
const TOP = 4;

/** Draws bars, because a line would show values between two minutes. */
function MinuteBars({ title, minutes, at, summary, describe, isBad }: MinuteBarsProps) {
  const most = Math.max(1, ...minutes.map((value) => value ?? 0));
  const step = WIDTH / Math.max(1, minutes.length);
  const floor = HEIGHT - FOOT;
  const highest = describe(Math.max(0, ...minutes.map((value) => value ?? 0)));
  return (
    <section class="card fleet-hour" aria-label={title}>
      <h3>{title}</h3>
      <p class="fleet-sum">{summary}</p>
      <svg
        class={isBad ? 'fleet-bars is-bad' : 'fleet-bars'}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${title}: ${summary}, at most ${highest} in a minute`}
      >
        <line class="fleet-floor" x1="0" x2={WIDTH} y1={floor} y2={floor} />
        {minutes.map((value, index) => {
          const height = (value ?? 0) === 0 ? 0 : Math.max(2, ((value ?? 0) / most) * (floor - TOP));
          const time = at - (minutes.length - 1 - index) * MINUTE_MS;
          return (
            <g key={time - (time % MINUTE_MS)}>
              <rect class="fleet-hit" x={index * step} y="0" width={step} height={floor} />
              <rect class="fleet-bar" x={index * step + 0.5} y={floor - height} width={step - 1} height={height} />
              <title>{`${clock(time)}: ${value === null ? 'not known' : describe(value)}`}</title>
            </g>
          );
        })}
        <g class="fleet-axis" aria-hidden="true">
          <text x="0" y={HEIGHT - 3}>
            {clock(at - (minutes.length - 1) * MINUTE_MS)}
          </text>
          <text x={WIDTH} y={HEIGHT - 3} text-anchor="end">
            {clock(at)}
          </text>
        </g>
      </svg>
    </section>
  );
}

function clock(time: number): string {
  return new Date(time).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
}
