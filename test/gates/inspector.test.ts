import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { buildInspector } from '../inspector/built-inspector.ts';

const SOURCES = fileURLToPath(new URL('../../inspector/src/', import.meta.url));
/** Limit of all files of the page together, each compressed as a server sends it. */
const MAX_BYTES = 62_000;

test('the built inspector has at most 62 kB after compression, and no inline script or style', async () => {
  const folder = await buildInspector();
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('.'));
  const sizes = files.map((path) => ({ path, bytes: gzipSync(readFileSync(join(folder, path))).length }));
  expect(sizes.length).toBeGreaterThan(4);
  expect(
    sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    JSON.stringify(sizes),
  ).toBeLessThanOrEqual(MAX_BYTES);
  const html = readFileSync(join(folder, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc=)|https?:/);
});

test('no source of the inspector interprets text as HTML', () => {
  const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));
  expect(sources.length).toBeGreaterThan(20);
  const forbidden =
    /dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|insertAdjacentHTML|document\.write|\beval\(|new Function\b/;
  expect(sources.filter((path) => forbidden.test(readFileSync(join(SOURCES, path), 'utf8')))).toEqual([]);
});
