import { type Markup, markup } from './markup.ts';
import { formatPixels as px } from './scale.ts';

export interface Bar {
  readonly name: string;
  /** Undefined if nothing was measured. A value below 0 has an empty bar. */
  readonly value: number | undefined;
  readonly text: string;
  readonly isOwn?: boolean;
}

interface BarPlot {
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly max: number;
}

const WIDTH = 920;
const NAME_WIDTH = 240;
const BAR_WIDTH = 580;
const ROW_HEIGHT = 24;
const BAR_HEIGHT = 14;
const BASELINE = 16;

export function drawBarPlot({ label, bars, max }: BarPlot): Markup {
  const rows = bars.map(({ name, value = 0, text, isOwn = false }, index) => {
    const top = index * ROW_HEIGHT;
    const width = max <= 0 ? 0 : (Math.min(max, Math.max(0, value)) / max) * BAR_WIDTH;
    const kind = isOwn ? 'bar own' : 'bar';
    return markup`<g><text class="name end" x="${NAME_WIDTH - 12}" y="${top + BASELINE}">${name}</text><rect class="${kind}" x="${NAME_WIDTH}" y="${top + 5}" width="${px(Math.max(1, width))}" height="${BAR_HEIGHT}" rx="2"/><text class="name" x="${px(NAME_WIDTH + width + 8)}" y="${top + BASELINE}">${text}</text><title>${name}: ${text}</title></g>\n`;
  });
  return markup`<svg xmlns="http://www.w3.org/2000/svg" class="plot bars" viewBox="0 0 ${WIDTH} ${bars.length * ROW_HEIGHT + 4}" role="img" aria-label="${label}">
${rows}</svg>`;
}
