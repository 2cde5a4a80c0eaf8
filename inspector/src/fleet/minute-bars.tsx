import { counted, exactNumber } from '../parts/figures.tsx';

export interface MinuteBarsProps {
  readonly title: string;
  /** One number for each minute, oldest first. The last minute still runs. */
  readonly minutes: readonly number[];
  /** Time of the last minute. */
  readonly at: number;
  /** Name of one of the counted things, and of several: `job`, `jobs`. */
  readonly unit: readonly [one: string, many: string];
  readonly isBad?: true;
}

const MINUTE_MS = 60_000;
const [WIDTH, HEIGHT, FOOT] = [300, 84, 14];
const TOP = 4;

/** Counts of the last hour as bars, because a line between counts would show values that never were. */
export function MinuteBars({ title, minutes, at, unit, isBad }: MinuteBarsProps) {
  const [one, many] = unit;
  const most = Math.max(1, ...minutes);
  const sum = minutes.reduce((total, count) => total + count, 0);
  const step = WIDTH / Math.max(1, minutes.length);
  const floor = HEIGHT - FOOT;
  const label = `${title}: ${counted(sum, one, many)} in the last hour, at most ${exactNumber(Math.max(0, ...minutes))} in a minute`;
  return (
    <section class="card fleet-hour" aria-label={title}>
      <h3>{title}</h3>
      <p class="fleet-sum">
        <strong class="number">{exactNumber(sum)}</strong> {sum === 1 ? one : many} in the last hour
      </p>
      <svg
        class={isBad ? 'fleet-bars is-bad' : 'fleet-bars'}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={label}
      >
        <line class="fleet-floor" x1="0" x2={WIDTH} y1={floor} y2={floor} />
        {minutes.map((count, index) => {
          const height = count === 0 ? 0 : Math.max(2, (count / most) * (floor - TOP));
          const time = at - (minutes.length - 1 - index) * MINUTE_MS;
          return (
            <g key={time - (time % MINUTE_MS)}>
              <rect class="fleet-hit" x={index * step} y="0" width={step} height={floor} />
              <rect class="fleet-bar" x={index * step + 0.5} y={floor - height} width={step - 1} height={height} />
              <title>{`${clock(time)}: ${counted(count, one, many)}`}</title>
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
