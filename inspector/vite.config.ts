import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Routes of `turnfold inspect`, for `npx vite inspector` while the page is changed. */
const server = { proxy: { '/v1': process.env['TURNFOLD_URL'] ?? 'http://127.0.0.1:8710' } };

/** Files that are loaded together: for every page, for the pages that a person opens first, and for those behind them. */
const CHUNKS = [
  {
    name: 'shared',
    test: /node_modules|[/]src[/](?:api|domain)[/]|[/]inspector[/]src[/](?:parts|shell)[/]/,
    priority: 1,
  },
  { name: 'first', test: /[/]inspector[/]src[/](?:find|fleet|gauge|list|timeline)[/]/ },
  { name: 'panels', test: /[/]inspector[/]src[/](?:diff|proposal|trial|turn|version)[/]/ },
];

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The page works under any path, e.g. `/inspect/`.
  base: './',
  server,
  // Without `development: false`, a build under NODE_ENV=test names file and line of every element, which is 8 kB more.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact', development: false } },
  build: {
    outDir: fileURLToPath(new URL('../dist/inspector', import.meta.url)),
    emptyOutDir: true,
    // The polyfill would be an inline script in old browsers, which the content security policy forbids.
    modulePreload: { polyfill: false },
    // A file inlined as a data: URL would be refused by the content security policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 100,
    // Small files compress badly: with a file for each panel, the page is 8 kB larger (gzip).
    rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
  },
});
