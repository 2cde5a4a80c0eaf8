/**
 * Build step that copies the Lua scripts into the build output, because tsc does not. The store reads them from beside
 * its own modules.
 */
import { cpSync } from 'node:fs';

cpSync('src/store/lua', 'dist/store/lua', { recursive: true });
