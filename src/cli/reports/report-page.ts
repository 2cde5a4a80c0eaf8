import { Markup, type MarkupValue, markup } from './markup.ts';
import { formatCount } from './scale.ts';

interface ReportPage {
  readonly title: string;
  readonly about: string;
  readonly sections: readonly Markup[];
}

/**
 * Writes a page that needs no script and no network. The page's policy forbids requests, so even a mistake could not
 * send a conversation anywhere.
 */
export function writePage({ title, about, sections }: ReportPage): string {
  const page = markup`<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<title>${title}</title>
<style>${new Markup(PAGE_STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
<p class="quiet">${about}</p>
${sections.map((section) => markup`<section>${section}</section>\n`)}</main>
</body>
</html>`;
  return `<!DOCTYPE html>\n${page.text}\n`;
}

export function writePicture(plot: Markup): string {
  return `${plot.text.replace('>', `>\n<style>${PLOT_STYLE}</style>`)}\n`;
}

export function placeWide(content: Markup): Markup {
  return markup`<div class="wide">${content}</div>`;
}

interface ReportTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly MarkupValue[])[];
  readonly total?: readonly MarkupValue[];
}

export function drawTable({ header, rows, total }: ReportTable): Markup {
  const body = rows.map((cells) => markup`<tr>${drawCells(cells)}</tr>\n`);
  const last = total === undefined ? undefined : markup`<tr class="total">${drawCells(total)}</tr>\n`;
  const head = markup`<thead><tr>${header.map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>`;
  return placeWide(markup`<table>${head}<tbody>\n${body}${last}</tbody></table>`);
}

function drawCells(cells: readonly MarkupValue[]): Markup[] {
  return cells.map((cell) => markup`<td>${cell}</td>`);
}

/** Writes a number as people read it, and adds the exact value for programs. */
export function figure(value: number, text = formatCount(value)): Markup {
  return markup`<data value="${value}">${text}</data>`;
}

export function drawFacts(facts: readonly (readonly [name: Markup, value: MarkupValue])[]): Markup {
  return markup`<dl>${facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** Colours for light and dark mode. Kinds of lines differ in their dashes, too. */
const COLOURS = `:root{color-scheme:light dark;--back:#fff;--card:#f7f8fa;--text:#1c2430;--quiet:#5b6675;--line:#dfe3e9;--size:#2a62c9;--area:#2a62c91f;--limit:#b3261e;--threshold:#8a5a00;--goal:#1d7a46;--version:#7b3fb5;--evict:#b3261e26;--summarize:#7b3fb526;--bar:#a9b4c4}
@media (prefers-color-scheme:dark){:root{--back:#12161c;--card:#1a2028;--text:#e6eaf0;--quiet:#98a4b3;--line:#2c3540;--size:#7fb0ff;--area:#7fb0ff26;--limit:#ff8a80;--threshold:#f0b849;--goal:#6ad19a;--version:#c9a2f5;--evict:#ff8a8033;--summarize:#c9a2f533;--bar:#4d5a6b}}`;

const PLOT_STYLE = `${COLOURS}
.plot{font:12px system-ui,sans-serif;fill:var(--text);background:var(--card);border-radius:8px}
.plot text{fill:var(--text)}.plot .tick{fill:var(--quiet);font-size:11px}.plot .end{text-anchor:end}.plot .middle{text-anchor:middle}
.grid{stroke:var(--line);fill:none}.axis{stroke:var(--quiet);fill:none}
.size{stroke:var(--size);stroke-width:1.75;stroke-linejoin:round;fill:none}.area{fill:var(--area)}
.line{fill:none;stroke-width:1.25}.line.limit{stroke:var(--limit)}.line.threshold{stroke:var(--threshold);stroke-dasharray:6 4}.line.goal{stroke:var(--goal);stroke-dasharray:2 3}.line.version{stroke:var(--version);stroke-dasharray:1 3}
.plot .name.limit{fill:var(--limit)}.plot .name.threshold{fill:var(--threshold)}.plot .name.goal{fill:var(--goal)}.plot .name.version{fill:var(--version);font-size:11px}
.fall{stroke:var(--version);stroke-width:2;fill:none}.dot{fill:var(--version)}.hit{stroke:transparent;stroke-width:8;fill:none}.mark:hover .line{stroke-dasharray:none}
.column{fill:transparent}.column:hover{fill:var(--area)}
.band.summarize{fill:var(--summarize)}.band.evict{fill:var(--evict)}.band.protected{fill:var(--goal)}
.bar{fill:var(--bar)}.bar.own{fill:var(--size)}`;

/** Lays out one column. Wide tables and plots scroll sideways on a phone. */
const PAGE_STYLE = `${PLOT_STYLE}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:1000px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:24px;line-height:1.25;margin:0 0 4px}h2{font-size:18px;margin:40px 0 8px;overflow-wrap:anywhere}h3{font-size:15px;margin:24px 0 6px}
p{margin:6px 0;overflow-wrap:anywhere}.quiet{color:var(--quiet)}
.wide{overflow-x:auto;margin:10px 0}.wide>.plot{display:block;width:100%;min-width:680px;height:auto}
.plot.bars{padding:8px 0}
table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:5px 12px 5px 0;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--quiet);font-weight:500;vertical-align:bottom}th:first-child,td:first-child{text-align:left;max-width:320px;overflow:hidden;text-overflow:ellipsis}
.total td{font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:10px 0;font-size:13px}dt{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}
.key{display:inline-block;width:10px;height:10px;margin-right:8px;border-radius:2px}.key.summarize{background:var(--summarize)}.key.evict{background:var(--evict)}.key.protected{background:var(--goal)}
@media print{body{background:#fff}.wide{overflow:visible}}`;
