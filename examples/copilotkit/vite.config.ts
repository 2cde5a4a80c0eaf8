import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/** The page is larger than Vite expects, because CopilotKit brings diagrams and formulas. */
const build = { outDir: 'dist', chunkSizeWarningLimit: 8_000 };

export default defineConfig({ plugins: [react()], build });
