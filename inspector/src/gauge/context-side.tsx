import type { BreakdownAnswer } from '../../../src/api/contract/inspection.ts';
import { exactNumber, shortPrice, shortTokens, Tokens } from '../parts/figures.tsx';
import type { Version } from '../shell/answers.ts';
import { linkTo, linkToMessage } from '../shell/router.ts';
import { CATEGORY_NAMES } from './gauge.tsx';

interface ContextSideProps {
  readonly conversation: string;
  readonly versions: readonly Version[];
  readonly breakdown: BreakdownAnswer;
}

/** Shows the parts of the context, its size over the log, and the cost of the conversation. */
export function ContextSide(props: ContextSideProps) {
  return (
    <div class="context-side">
      <Categories {...props} />
      <Growth {...props} />
      <Cost cost={props.breakdown.cost} />
    </div>
  );
}

function Categories({ conversation, breakdown: { categories, window } }: ContextSideProps) {
  const shown = categories.filter(({ count }) => count > 0);
  return (
    <section class="card categories" aria-label="Parts of the context">
      <h2>What fills it</h2>
      {shown.length === 0 && <p class="categories-empty">The context is empty.</p>}
      {shown.map((category) => (
        <details key={category.name} class="category">
          <summary>
            <span class={`swatch c-${category.name}`} />
            <span class="category-name">{CATEGORY_NAMES[category.name]}</span>
            <span class="category-count number">{exactNumber(category.count)}</span>
            <span class="category-tokens">
              <Tokens value={category.tokens} />
            </span>
            <span class="category-share number">
              {Math.round((100 * category.tokens) / Math.max(1, window.usedTokens))} %
            </span>
          </summary>
          <ol class="largest">
            {category.largest.map((entry) => (
              <li key={`${entry.seq ?? ''}${entry.name ?? ''}${entry.start}`}>
                <Largest conversation={conversation} entry={entry} />
              </li>
            ))}
          </ol>
        </details>
      ))}
    </section>
  );
}

interface LargestProps {
  readonly conversation: string;
  readonly entry: BreakdownAnswer['categories'][number]['largest'][number];
}

function Largest({ conversation, entry: { seq, name, tokens, start } }: LargestProps) {
  const content = (
    <>
      <span class="largest-place mono">{seq === undefined ? name : `#${seq}`}</span>
      <bdi class="one-line">{start}</bdi>
      <Tokens value={tokens} />
    </>
  );
  if (seq === undefined) return <div class="largest-entry">{content}</div>;
  return (
    <a class="largest-entry" href={linkToMessage(conversation, seq)}>
      {content}
    </a>
  );
}

function Growth({ conversation, versions, breakdown: { head, window, thresholds } }: ContextSideProps) {
  if (head === 0) return null;
  const points: PlotPoint[] = [
    { x: 0, y: 0 },
    ...versions.flatMap(({ measuredAt, tokensBefore, tokensAfter }) => [
      { x: measuredAt.head, y: tokensBefore },
      { x: measuredAt.head, y: tokensAfter },
    ]),
    { x: head, y: window.usedTokens },
  ];
  const marks = versions.map(({ number, measuredAt, tokensBefore, tokensAfter }) => ({
    x: measuredAt.head,
    label: `Version ${number}, after message ${measuredAt.head}: ${shortTokens(tokensBefore)} → ${shortTokens(tokensAfter)} tokens`,
    href: linkTo('c', conversation, 'v', number),
  }));
  const levels = thresholds.map(({ name, tokens }) => ({ y: tokens, label: `${name}: ${shortTokens(tokens)} tokens` }));
  return (
    <section class="card growth" aria-label="Size over the log">
      <h2>Size over the log</h2>
      <LinePlot
        label={`Size of the context in tokens over ${head} messages, with ${versions.length} versions`}
        points={points}
        marks={marks}
        levels={levels}
        unit="messages"
      />
    </section>
  );
}

interface PlotPoint {
  readonly x: number;
  readonly y: number;
}

interface PlotMark {
  readonly x: number;
  readonly label: string;
  readonly href?: string;
}

interface PlotLevel {
  readonly y: number;
  readonly label: string;
}

interface LinePlotProps {
  readonly label: string;
  readonly points: readonly PlotPoint[];
  readonly marks?: readonly PlotMark[];
  readonly levels?: readonly PlotLevel[];
  readonly unit: string;
}

const [WIDTH, HEIGHT] = [320, 120];
const [LEFT, RIGHT, TOP, BOTTOM] = [34, 6, 8, 18];

/** Draws its own SVG, because a package for plots (uPlot 1.6) would add 23 kB gzip. */
function LinePlot({ label, points, marks = [], levels = [], unit }: LinePlotProps) {
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

function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= value) ?? 10;
  return step * power;
}

function Cost({ cost }: Pick<BreakdownAnswer, 'cost'>) {
  const { microdollars, inputTokens, cachedTokens, outputTokens } = cost;
  if (inputTokens === 0 && outputTokens === 0) {
    return (
      <section class="card cost" aria-label="Cost so far">
        <h2>Cost so far</h2>
        <p class="categories-empty">No model call has reported its usage.</p>
      </section>
    );
  }
  const cachedShare = inputTokens === 0 ? 0 : Math.round((100 * cachedTokens) / inputTokens);
  return (
    <section class="card cost" aria-label="Cost so far">
      <h2>Cost so far</h2>
      <dl>
        <dt>input</dt>
        <dd>
          <Tokens value={inputTokens - cachedTokens} />
        </dd>
        <dt>input from the cache</dt>
        <dd>
          <Tokens value={cachedTokens} /> <span class="gauge-share number">{cachedShare} %</span>
        </dd>
        <dt>output</dt>
        <dd>
          <Tokens value={outputTokens} />
        </dd>
        <dt>price</dt>
        <dd class="number">{microdollars === undefined ? 'not known' : shortPrice(microdollars)}</dd>
      </dl>
    </section>
  );
}
