import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Routes of `turnfold inspect`, for `npx vite inspector` while the page is changed. */
const server = { proxy: { '/v1': process.env['TURNFOLD_URL'] ?? 'http://127.0.0.1:8710' } };

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The page works under any path, e.g. `/inspect/`.
  base: './',
  server,
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: fileURLToPath(new URL('../dist/inspector', import.meta.url)),
    emptyOutDir: true,
    // The polyfill would be an inline script in old browsers, which the content security policy forbids.
    modulePreload: { polyfill: false },
    // A file inlined as a data: URL would be refused by the content security policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 100,
  },
});
