import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** Routes of `turnfold serve`, for `npx vite` in this folder while the page is changed. */
const server = { proxy: { '/v1': process.env['TURNFOLD_URL'] ?? 'http://127.0.0.1:8787' } };

export default defineConfig({ plugins: [react()], server, build: { outDir: 'dist' } });
