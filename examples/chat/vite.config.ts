import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Routes of `turnfold serve`, for `npx vite` in this folder while the page is changed. */
const server = { proxy: { '/v1': process.env['TURNFOLD_URL'] ?? 'http://127.0.0.1:8787' } };

/** The hook of this checkout. A page of your own installs `turnfold` instead, and needs no alias. */
const hook = fileURLToPath(new URL('../../src/chat/react/index.ts', import.meta.url));
const resolve = { alias: { 'turnfold/chat/react': hook }, dedupe: ['react', 'react-dom'] };

export default defineConfig({ plugins: [react()], server, resolve, build: { outDir: 'dist' } });
