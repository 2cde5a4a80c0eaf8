import { Markup, type MarkupValue, markup } from './markup.ts';
import { formatCount } from './scale.ts';
import { PAGE_STYLE, PLOT_STYLE } from './style.ts';

export interface ReportPage {
  readonly title: string;
  /** A sentence or two about what was measured. */
  readonly about: string;
  readonly sections: readonly Markup[];
}

/**
 * Writes a page that needs no other file, no script and no network. The page is HTML and well-formed XML. Its policy
 * forbids requests, so even a mistake could not send the texts of a conversation anywhere.
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

/** Writes a plot as a picture of its own, for a page of the documentation. */
export function writePicture(plot: Markup): string {
  return `${plot.text.replace('>', `>\n<style>${PLOT_STYLE}</style>`)}\n`;
}

/** Puts a plot or table where it may be wider than the page. */
export function placeWide(content: Markup): Markup {
  return markup`<div class="wide">${content}</div>`;
}

export interface ReportTable {
  readonly header: readonly string[];
  readonly rows: readonly (readonly MarkupValue[])[];
  /** Last row, which sums up the others. */
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

/** A figure with its exact value beside the text that people read. */
export function figure(value: number, text = formatCount(value)): Markup {
  return markup`<data value="${value}">${text}</data>`;
}

/** A list of names and values, e.g. the legend of a plot. */
export function drawFacts(facts: readonly (readonly [name: Markup, value: MarkupValue])[]): Markup {
  return markup`<dl>${facts.map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}
