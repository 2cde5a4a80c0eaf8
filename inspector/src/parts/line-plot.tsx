import { shortTokens } from './figures.tsx';

export interface PlotPoint {
  readonly x: number;
  readonly y: number;
}

export interface PlotMark {
  readonly x: number;
  readonly label: string;
  /** Absent: the mark is no link. */
  readonly href?: string;
}

export interface PlotLevel {
  readonly y: number;
  readonly label: string;
}

export interface LinePlotProps {
  /** Describes the plot in words, because a screen reader reads no lines. */
  readonly label: string;
  readonly points: readonly PlotPoint[];
  readonly marks?: readonly PlotMark[];
  readonly levels?: readonly PlotLevel[];
  /** Unit of the horizontal axis, e.g. `messages`. */
  readonly unit: string;
}

const [WIDTH, HEIGHT] = [320, 120];
const [LEFT, RIGHT, TOP, BOTTOM] = [34, 6, 8, 18];

/**
 * A line over a number line, with vertical marks. It is drawn as SVG from the tokens of the style, so that it follows
 * the theme, is sharp at any size, and has links. A package for plots would be half of the page's size.
 */
export function LinePlot({ label, points, marks = [], levels = [], unit }: LinePlotProps) {
  const most = { x: Math.max(1, ...points.map(({ x }) => x)), y: niceTop(Math.max(1, ...points.map(({ y }) => y))) };
  const placeX = (x: number): number => LEFT + (x / most.x) * (WIDTH - LEFT - RIGHT);
  const placeY = (y: number): number => HEIGHT - BOTTOM - (y / most.y) * (HEIGHT - TOP - BOTTOM);
  const line = points.map(({ x, y }) => `${placeX(x).toFixed(1)},${placeY(y).toFixed(1)}`).join(' ');
  const floor = placeY(0);
  return (
    <svg class="plot" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={label}>
      {[0, most.y / 2, most.y].map((y) => (
        <g key={y} class="plot-grid" aria-hidden="true">
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={placeY(y)} y2={placeY(y)} />
          <text x={LEFT - 5} y={placeY(y) + 3} text-anchor="end">
            {shortTokens(y)}
          </text>
        </g>
      ))}
      {levels
        .filter(({ y }) => y <= most.y)
        .map(({ y, label: name }) => (
          <line key={name} class="plot-level" x1={LEFT} x2={WIDTH - RIGHT} y1={placeY(y)} y2={placeY(y)}>
            <title>{name}</title>
          </line>
        ))}
      <polygon class="plot-area" points={`${placeX(points[0]?.x ?? 0)},${floor} ${line} ${placeX(most.x)},${floor}`} />
      <polyline class="plot-line" points={line} />
      {marks.map((mark) => (
        <Mark key={mark.label} mark={mark} x={placeX(mark.x)} floor={floor} />
      ))}
      <g class="plot-grid" aria-hidden="true">
        <text x={LEFT} y={HEIGHT - 5}>
          0
        </text>
        <text x={WIDTH - RIGHT} y={HEIGHT - 5} text-anchor="end">
          {most.x} {unit}
        </text>
      </g>
    </svg>
  );
}

function Mark({
  mark: { label, href },
  x,
  floor,
}: {
  readonly mark: PlotMark;
  readonly x: number;
  readonly floor: number;
}) {
  const line = (
    <>
      <title>{label}</title>
      <rect class="plot-hit" x={x - 4} y={TOP} width="8" height={floor - TOP} />
      <line class="plot-mark" x1={x} x2={x} y1={TOP} y2={floor} />
    </>
  );
  if (href === undefined) return <g>{line}</g>;
  return (
    <a href={href} aria-label={label}>
      {line}
    </a>
  );
}

/** Rounds up to 1, 2, 2.5 or 5 times a power of ten. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= value) ?? 10;
  return step * power;
}
