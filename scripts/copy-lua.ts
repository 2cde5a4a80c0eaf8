/** Build: tsc does not copy the Lua scripts. The store reads them beside its own modules. */
import { cpSync } from 'node:fs';

cpSync('src/store/lua', 'dist/store/lua', { recursive: true });
