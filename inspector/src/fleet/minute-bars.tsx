export interface MinuteBarsProps {
  readonly title: string;
  /** One number for each minute, oldest first. null: the server noted none in this minute. The last minute still runs. */
  readonly minutes: readonly (number | null)[];
  /** Time of the last minute. */
  readonly at: number;
  /** Sentence about all minutes. */
  readonly summary: string;
  /** Names a number with its unit. */
  readonly describe: (value: number) => string;
  readonly isBad?: true;
}

const MINUTE_MS = 60_000;
const [WIDTH, HEIGHT, FOOT] = [300, 84, 14];
const TOP = 4;

/** Shows the minutes of the last hour as bars. A line would also show values between two minutes, which do not exist. */
export function MinuteBars({ title, minutes, at, summary, describe, isBad }: MinuteBarsProps) {
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
