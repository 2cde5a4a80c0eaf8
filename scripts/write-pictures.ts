/**
 * Writes the pictures of the documentation: `npx node scripts/write-pictures.ts`. A test compares the files with what
 * this script writes.
 */
import { writeFileSync } from 'node:fs';
import { drawContextGrowth, GROWTH_PICTURE } from './growth-picture.ts';

writeFileSync(GROWTH_PICTURE, await drawContextGrowth());
