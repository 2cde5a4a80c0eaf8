/** Build: tsc leaves the Lua scripts behind; the store reads them beside its own modules. */
import { cpSync } from 'node:fs';

cpSync('src/store/lua', 'dist/store/lua', { recursive: true });
