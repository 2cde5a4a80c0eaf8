import { type Markup, markup } from './markup.ts';
import { createScale, formatCount, formatShort, formatPixels as px, type Scale } from './scale.ts';

/** Sizes of a context. Step `i` is at `first + i` of the horizontal axis. */
export interface SizePlot {
  readonly label: string;
  /** The steps that the axis counts, e.g. `model calls`. */
  readonly axis: string;
  readonly first: number;
  readonly steps: readonly SizeStep[];
  readonly marks?: readonly SizeMark[];
  readonly bands?: readonly SizeBand[];
  readonly limits: readonly SizeLimit[];
}

interface SizeStep {
  readonly tokens: number;
  /** Text that is shown when the pointer rests on the step. */
  readonly title: string;
}

/** A change of the context between two steps, e.g. a version. */
interface SizeMark {
  readonly behind: number;
  readonly label: string;
  readonly title: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

export interface SizeBand {
  readonly from: number;
  readonly to: number;
  readonly kind: 'summarize' | 'evict' | 'protected';
  readonly title: string;
}

export interface SizeLimit {
  readonly name: string;
  readonly tokens: number;
  readonly kind: 'limit' | 'threshold' | 'goal';
}

const WIDTH = 920;
const HEIGHT = 320;
const LEFT = 52;
const TOP = 30;
const PLOT_WIDTH = 724;
const PLOT_HEIGHT = 240;
const RIGHT = LEFT + PLOT_WIDTH;
const BOTTOM = TOP + PLOT_HEIGHT;
const LABEL_WIDTH = 30;
const LINE_HEIGHT = 15;
/** Maximum number of columns. More columns would make the file large, and each column too narrow to hit. */
const MAX_COLUMNS = 240;
/** A limit above the largest size by this factor is not drawn, because the sizes would lie flat on the axis. */
const FAR_ABOVE = 2;

interface Scales {
  readonly x: (at: number) => number;
  readonly y: (tokens: number) => number;
  readonly xScale: Scale;
  readonly yScale: Scale;
}

export function drawSizePlot(plot: SizePlot): Markup {
  const { label, axis, steps, marks = [], bands = [] } = plot;
  const scales = createScales(plot);
  const points = listPoints(plot);
  const path = points.map(([at, tokens], index) => {
    return `${index === 0 ? 'M' : 'L'}${px(scales.x(at))} ${px(scales.y(tokens))}`;
  });
  const [start = 0, end = 0] = [points[0]?.[0], points.at(-1)?.[0]];
  const area = `${path.join('')}L${px(scales.x(end))} ${BOTTOM}L${px(scales.x(start))} ${BOTTOM}Z`;
  return markup`<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${drawAxes(scales, axis, plot.first)}
${bands.map((band) => drawBand(band, scales, plot.first))}
${steps.length === 0 ? undefined : markup`<path class="area" d="${area}"/><path class="size" d="${path.join('')}"/>`}
${drawLimits(plot, scales)}
${drawColumns(plot, scales)}
${drawMarks(marks, scales, plot.first)}
</svg>`;
}

function createScales({ steps, marks = [], limits, first }: SizePlot): Scales {
  const sizes = [...steps.map(({ tokens }) => tokens), ...marks.map(({ tokensBefore }) => tokensBefore)];
  const largest = sizes.reduce((most, tokens) => Math.max(most, tokens), 1);
  const near = limits.filter(({ tokens }) => tokens <= FAR_ABOVE * largest);
  const top = near.reduce((most, { tokens }) => Math.max(most, tokens), largest);
  const xScale = createScale(Math.max(1, steps.length - 1 + first), PLOT_WIDTH, 10);
  const yScale = createScale(top * 1.05, PLOT_HEIGHT, 5);
  return { x: (at) => LEFT + xScale.place(at), y: (tokens) => BOTTOM - yScale.place(tokens), xScale, yScale };
}

/** Lists the points of the line. A change lies between two steps, and the size falls there. */
function listPoints({ steps, marks = [], first }: SizePlot): [number, number][] {
  const marksBehind = Map.groupBy(marks, ({ behind }) => behind);
  const fallsBehind = (behind: number): [number, number][] =>
    (marksBehind.get(behind) ?? []).flatMap(({ tokensBefore, tokensAfter }) => [
      [placeOfMark(behind, first), tokensBefore],
      [placeOfMark(behind, first), tokensAfter],
    ]);
  return [
    ...fallsBehind(0),
    ...steps.flatMap(({ tokens }, index): [number, number][] => [[first + index, tokens], ...fallsBehind(index + 1)]),
  ];
}

function placeOfMark(behind: number, first: number): number {
  return Math.max(0, first + behind - 0.5);
}

function drawAxes({ x, y, xScale, yScale }: Scales, axis: string, first: number): Markup {
  const rows = yScale.ticks.map(
    (tokens) =>
      markup`<path class="grid" d="M${LEFT} ${px(y(tokens))}H${RIGHT}"/><text class="tick end" x="${LEFT - 8}" y="${px(y(tokens) + 4)}">${formatShort(tokens)}</text>`,
  );
  const columns = xScale.ticks
    .filter((at) => at >= first)
    .map(
      (at) =>
        markup`<path class="axis" d="M${px(x(at))} ${BOTTOM}v5"/><text class="tick middle" x="${px(x(at))}" y="${BOTTOM + 19}">${formatCount(at)}</text>`,
    );
  return markup`<text class="tick" x="4" y="14">tokens</text>${rows}<path class="axis" d="M${LEFT} ${BOTTOM}H${RIGHT}"/>${columns}<text class="tick middle" x="${LEFT + PLOT_WIDTH / 2}" y="${BOTTOM + 40}">${axis}</text>`;
}

function drawBand({ from, to, kind, title }: SizeBand, { x }: Scales, first: number): Markup {
  const left = x(Math.max(0, first + from - 0.5));
  const width = Math.max(1, x(first + to + 0.5) - left);
  // Protected messages are shown as a strip at the foot, because they are often most of a context.
  const [top, height] = kind === 'protected' ? [BOTTOM - 6, 6] : [TOP, PLOT_HEIGHT];
  return markup`<rect class="band ${kind}" x="${px(left)}" y="${top}" width="${px(width)}" height="${height}"><title>${title}</title></rect>`;
}

function drawLimits({ limits }: SizePlot, { y, yScale }: Scales): Markup[] {
  const sorted = limits.toSorted((one, other) => other.tokens - one.tokens);
  let lowest = Number.NEGATIVE_INFINITY;
  return sorted.map(({ name, tokens, kind }) => {
    const isShown = tokens <= yScale.max;
    const at = isShown ? y(tokens) : TOP;
    const labelAt = Math.max(at + 4, lowest + LINE_HEIGHT);
    lowest = labelAt;
    const line = isShown ? markup`<path class="line ${kind}" d="M${LEFT} ${px(at)}H${RIGHT}"/>` : undefined;
    const text = `${name} ${formatShort(tokens)}${isShown ? '' : ' ↑'}`;
    return markup`<g>${line}<text class="name ${kind}" x="${RIGHT + 8}" y="${px(labelAt)}">${text}</text><title>${name}: ${formatCount(tokens)} tokens</title></g>`;
  });
}

/** Draws invisible columns over the steps. A browser shows the title of the column under the pointer. */
function drawColumns({ steps, first }: SizePlot, { x }: Scales): Markup[] {
  const count = Math.min(MAX_COLUMNS, steps.length);
  return Array.from({ length: count }, (_, column) => {
    const from = Math.floor((column * steps.length) / count);
    const to = Math.max(from, Math.floor(((column + 1) * steps.length) / count) - 1);
    const left = x(Math.max(0, first + from - 0.5));
    const right = x(first + to + 0.5);
    const [start, end] = [steps[from]?.title, steps[to]?.title];
    const title = from === to ? start : `${start ?? ''}\n${end ?? ''}`;
    return markup`<rect class="column" x="${px(left)}" y="${TOP}" width="${px(Math.max(1, right - left))}" height="${PLOT_HEIGHT}"><title>${title}</title></rect>`;
  });
}

function drawMarks(marks: readonly SizeMark[], { x, y }: Scales, first: number): Markup[] {
  let labelledTo = Number.NEGATIVE_INFINITY;
  return marks.map(({ behind, label, title, tokensBefore, tokensAfter }) => {
    const at = x(placeOfMark(behind, first));
    const hasSpace = at - labelledTo >= LABEL_WIDTH;
    if (hasSpace) labelledTo = at;
    const text = hasSpace
      ? markup`<text class="name middle version" x="${px(at)}" y="${TOP - 8}">${label}</text>`
      : undefined;
    // An invisible wide line is easier to hit with a pointer than the thin line.
    return markup`<g class="mark"><path class="hit" d="M${px(at)} ${TOP - 4}V${BOTTOM}"/><path class="line version" d="M${px(at)} ${TOP - 4}V${BOTTOM}"/><path class="fall" d="M${px(at)} ${px(y(tokensBefore))}V${px(y(tokensAfter))}"/><circle class="dot" cx="${px(at)}" cy="${px(y(tokensAfter))}" r="3"/>${text}<title>${title}</title></g>`;
  });
}
